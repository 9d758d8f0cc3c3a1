// What a job is, as a table; jobs/rule_play.h says how it is read.

#include "jobs/rule_play.h"

namespace capstan::jobs {
namespace {

const Rule kRules[] = {
    // The start.
    {"Servers start before trainers and trainers before evaluators",
     "evaluator 1; worker 1; chief 1; ps 1", "", "",
     "runs; order start ps/0 < start worker/0; order start worker/0 < start evaluator/0; "
     "order start ps/0 < start chief/0"},
    {"A program that cannot be started ends the job at once", "ps 1; worker 2", "broken", "",
     "exit 127; cause ps/0"},
    // The end.
    {"A job of one worker ends with it", "worker 1", "", "end worker/0 0", "exit 0; worker/0 good"},
    {"A job ends when all trainers and servers have ended", "ps 1; worker 2", "",
     "end worker/0 0; end worker/1 0; end ps/0 0", "exit 0; ps/0 good; not ask ps/0"},
    {"One worker of two that ended does not end the job", "ps 1; worker 2", "",
     "end worker/0 0; +100", "runs; ps/0 running; worker/1 running"},
    {"A chief that ended does not end the job while a worker trains", "chief 1; worker 1", "",
     "end chief/0 0; +100", "runs; worker/0 running"},
    {"A server that only serves has a second after the training", "ps 1; worker 1", "",
     "serves ps/0; end worker/0 0; +0.9", "runs; not ask ps/0"},
    {"A server that only serves is asked to end after a second", "ps 1; worker 1", "",
     "serves ps/0; end worker/0 0; +1.1", "exit 0; ps/0 good; did ask ps/0"},
    {"A server that did not say so has ten seconds", "ps 1; worker 1", "", "end worker/0 0; +9.9",
     "runs; not ask ps/0"},
    {"A server that outstays ten seconds is asked to end and counts as good", "ps 1; worker 1", "",
     "end worker/0 0; +10.1", "exit 0; ps/0 good; did ask ps/0"},
    {"A server that does not listen is killed after five more", "ps 1; worker 1", "",
     "stubborn; end worker/0 0; +14.9; +0.3", "exit 0; ps/0 good; did kill ps/0"},
    {"Who waits for servers is told after five seconds", "ps 1; worker 1", "",
     "end worker/0 0; +5.1", "runs; says waiting for the rest"},
    {"A worker that trained and serves is a trainer that has ended", "worker 2", "",
     "trained worker/0; end worker/1 0; +1.1", "exit 0; worker/0 good; did ask worker/0"},
    {"Workers that only serve end with the one that trained", "ps 1; worker 3", "",
     "serves worker/1; serves worker/2; serves ps/0; end worker/0 0; +1.1",
     "exit 0; worker/1 good; worker/2 good; ps/0 good"},
    {"A job in which everybody only serves stands", "ps 1; worker 2", "",
     "serves ps/0; serves worker/0; serves worker/1; +1000",
     "runs; says every worker only serves; worker/0 running"},
    {"A worker that serves goes on serving while another trains", "worker 2", "",
     "trained worker/0; +1000", "runs; worker/0 running"},
    {"An evaluator has a minute", "worker 1; evaluator 1", "", "end worker/0 0; +59",
     "runs; not ask evaluator/0"},
    {"An evaluator that outstays its minute is good", "worker 1; evaluator 1", "",
     "end worker/0 0; +61", "exit 0; evaluator/0 good"},
    {"An evaluator that is waited for has all the time", "worker 1; evaluator 1", "evaluator waits",
     "end worker/0 0; +5000", "runs; evaluator/0 running"},
    {"An evaluator that is waited for ends the job", "worker 1; evaluator 1", "evaluator waits",
     "end worker/0 0; +5000; end evaluator/0 0", "exit 0"},
    {"An evaluator that ends first ends nothing", "worker 1; evaluator 1", "",
     "end evaluator/0 0; +100", "runs; worker/0 running"},
    {"A server that ends first ends nothing", "ps 1; worker 1", "", "end ps/0 0; +100", "runs"},
    // Success by the chief.
    {"Where the chief decides its end is the end", "ps 1; chief 1; worker 2", "success chief",
     "end chief/0 0; +10.1", "exit 0; worker/0 good; worker/1 good; ps/0 good"},
    {"Where the chief decides a worker's end is not the end", "chief 1; worker 1", "success chief",
     "end worker/0 0; +100", "runs; chief/0 running"},
    {"A master is a chief", "master 1; worker 1", "success chief", "end master/0 0; +10.1",
     "exit 0; worker/0 good"},
    {"The first worker is the chief where there is none", "ps 1; worker 2", "success chief",
     "end worker/0 0; +10.1", "exit 0; worker/1 good; ps/0 good"},
    {"The second worker is no chief", "ps 1; worker 2", "success chief", "end worker/1 0; +100",
     "runs"},
    {"Where the chief decides its failure still fails the job", "chief 1; worker 1",
     "success chief", "end chief/0 3; +1", "exit 3; cause chief/0; worker/0 stopped"},
    {"Whom the chief left behind may fail of that", "ps 1; chief 1; worker 2", "success chief",
     "end chief/0 0; +2; error worker/0 Unavailable; end worker/0 1; +2; end worker/1 3; +10",
     "exit 0; worker/0 stopped; worker/1 stopped; chief/0 good; cause nobody"},
    {"Who notices that the chief leaves before we see its end is left behind, too",
     "worker 1; chief 1", "success chief",
     "error worker/0 Unavailable; end worker/0 1; +0.1; end chief/0 0; +1",
     "exit 0; worker/0 stopped; cause nobody"},
    {"A worker that failed before the chief ended fails the job", "chief 1; worker 1",
     "success chief", "end worker/0 3; +0.1; end chief/0 0; +1", "exit 3; cause worker/0"},
    {"A server that fails after the chief ended fails the job", "ps 1; chief 1", "success chief",
     "end chief/0 0; end ps/0 3; +1", "exit 3; cause ps/0"},
    // Failures and their order.
    {"A failed worker ends the job with its code", "ps 1; worker 2", "", "end worker/1 7; +1",
     "exit 7; cause worker/1; worker/0 stopped; ps/0 stopped; says worker/1 failed first, with "
     "exit "
     "code 7"},
    {"A failure waits a quarter of a second for an earlier one", "worker 2", "",
     "end worker/1 7; +0.2", "runs; not ask worker/0"},
    {"Trainers are stopped before servers", "ps 1; worker 2", "", "end worker/1 7; +1",
     "order ask worker/0 < ask ps/0"},
    {"Servers wait for trainers that do not listen", "ps 1; worker 2", "",
     "stubborn; end worker/1 7; +5; +5.6", "exit 7; order kill worker/0 < ask ps/0; did kill ps/0"},
    {"A failed server is the cause", "ps 1; worker 1", "", "signal ps/0 9; +1",
     "exit 137; cause ps/0; says ps/0 failed first, ended by SIGKILL"},
    {"A failed evaluator fails the job", "worker 1; evaluator 1", "", "end evaluator/0 4; +1",
     "exit 4; cause evaluator/0"},
    {"The first of two failures is the cause", "worker 2", "",
     "end worker/1 4; +0.1; end worker/0 3; +1", "exit 4; cause worker/1; worker/0 failed"},
    {"An error that was told earlier is the cause", "worker 2", "",
     "error worker/0 Internal; +0.1; end worker/1 4; +0.1; end worker/0 3; +1",
     "exit 3; cause worker/0"},
    {"A lost peer is a consequence", "ps 1; worker 1", "",
     "error worker/0 Unavailable; end worker/0 5; +0.1; signal ps/0 11; +1",
     "exit 139; cause ps/0; worker/0 failed"},
    {"An aborted step is a consequence", "ps 1; worker 1", "",
     "error worker/0 Aborted; end worker/0 5; +0.1; signal ps/0 9; +1", "exit 137; cause ps/0"},
    {"A cancelled step is a consequence", "ps 1; worker 1", "",
     "error worker/0 Cancelled; end worker/0 5; +0.1; signal ps/0 9; +1", "exit 137; cause ps/0"},
    {"A lost peer alone is the cause", "ps 1; worker 1", "",
     "error worker/0 Unavailable; end worker/0 5; +1", "exit 5; cause worker/0; ps/0 stopped"},
    {"A task that is lost has failed", "ps 1; worker 1", "", "lost ps/0; +1",
     "exit 137; cause ps/0"},
    {"A server that fails after the training fails the job", "ps 1; worker 1", "",
     "end worker/0 0; end ps/0 3; +1", "exit 3; cause ps/0"},
    // Chiefs that never come.
    {"A job in which all wait for a chief is stopped", "ps 1; worker 2", "",
     "waits worker/0 chief; waits worker/1 chief; +5.1",
     "exit 1; says none is the chief; worker/0 stopped"},
    {"Waiting for a chief is allowed while one may come", "worker 2", "",
     "waits worker/1 chief; +100", "runs"},
    {"A worker that stops waiting in time goes on", "worker 1", "",
     "waits worker/0 chief; +4.9; goes-on worker/0; +5", "runs"},
    {"A chief that ended without its work is named", "chief 1; worker 1", "",
     "waits worker/0 chief; end chief/0 0; +5.1", "exit 1; says chief/0 ended already"},
    {"A chief that comes back is waited for", "chief 1; worker 1", "restart 1",
     "waits worker/0 chief; signal chief/0 9; +0.5", "runs; worker/0 running; chief/0 waiting"},
    // Stops at every state.
    {"A stop ends trainers and then servers", "ps 1; worker 1", "", "stop",
     "exit 143; order ask worker/0 < ask ps/0; worker/0 stopped; says stopped on request"},
    {"A Ctrl-C has its own code", "ps 1; worker 1", "", "ctrl-c",
     "exit 130; says stopped by Ctrl-C; says once more to kill"},
    {"What does not listen to a Ctrl-C is killed after five seconds", "worker 1", "",
     "stubborn; ctrl-c; +4.9; +0.2", "exit 130; did kill worker/0"},
    {"A second Ctrl-C kills at once", "ps 1; worker 2", "", "stubborn; ctrl-c; ctrl-c",
     "exit 130; did kill worker/0; did kill ps/0"},
    {"A stop and then a Ctrl-C kills at once", "worker 1", "", "stubborn; stop; ctrl-c",
     "exit 143; did kill worker/0"},
    {"A Ctrl-C does not wait for consequences of a failure", "worker 2", "",
     "end worker/0 3; ctrl-c", "exit 3; cause worker/0; worker/1 stopped"},
    {"A stop after the training is a stop", "ps 1; worker 1", "", "end worker/0 0; stop",
     "exit 143; ps/0 stopped"},
    {"A stop while servers are let go is a stop", "ps 1; worker 1", "",
     "stubborn; end worker/0 0; +11; stop; +5.1", "exit 143; did kill ps/0"},
    {"A stop of a standing job ends it", "ps 1; worker 1", "",
     "serves ps/0; serves worker/0; +10; stop", "exit 143; worker/0 stopped; ps/0 stopped"},
    {"A stop while a task waits to come back ends the job", "ps 1; worker 1", "restart 3",
     "signal worker/0 9; stop",
     "exit 143; worker/0 stopped; once start worker/0; not ask worker/0"},
    {"What fails while a job is being stopped is not its cause", "ps 1; worker 1", "",
     "stubborn; stop; end ps/0 3; +6", "exit 143; ps/0 failed; cause nobody"},
    // Deadlines.
    {"A deadline ends the job with 124", "ps 1; worker 1", "timeout 10", "+9.9; +0.2",
     "exit 124; says not done after 10 s"},
    {"A deadline in time to come ends nothing", "worker 1", "timeout 10", "+9.9", "runs"},
    {"A deadline beyond all clocks ends nothing", "worker 1", "timeout 1e18", "+9.9", "runs"},
    {"A deadline counts while servers are waited for", "ps 1; worker 1", "timeout 10",
     "+5; end worker/0 0; +5.1", "exit 124"},
    {"A deadline counts over restarts", "worker 1", "timeout 3; restart 9",
     "signal worker/0 9; +1.1; signal worker/0 9; +2.1", "exit 124; worker/0 stopped"},
    // Restarts.
    {"Without restarts a signal fails the job", "worker 1", "", "signal worker/0 9; +1",
     "exit 137; worker/0 failed"},
    {"A worker that a signal ended comes back after a second", "ps 1; worker 2", "restart 3",
     "signal worker/0 9; +0.9", "runs; worker/0 waiting; says restarts worker/0: SIGKILL"},
    {"A worker that came back trains on", "ps 1; worker 2", "restart 3", "signal worker/0 9; +1.1",
     "runs; worker/0 running; worker/0 attempt 2; worker/1 running; not ask worker/1"},
    {"A job whose worker came back can end well", "worker 1", "restart 3",
     "signal worker/0 9; +1.1; end worker/0 0", "exit 0; worker/0 good; worker/0 attempt 2"},
    {"A server comes back", "ps 1; worker 1", "restart 1", "signal ps/0 9; +1.1",
     "runs; ps/0 running; ps/0 attempt 2"},
    {"A lost task comes back", "ps 1; worker 1", "restart 1", "lost worker/0; +1.1",
     "runs; worker/0 attempt 2; worker/0 running"},
    {"A lost peer is a passing reason", "ps 1; worker 1", "restart 1; passing",
     "error worker/0 Unavailable; end worker/0 1; +1.1", "runs; worker/0 attempt 2"},
    {"An own error is no passing reason", "worker 1", "restart 3; passing", "end worker/0 1; +1",
     "exit 1; worker/0 attempt 1"},
    {"Never means never", "worker 1", "restart 3; never", "signal worker/0 9; +1", "exit 137"},
    {"A task may have a policy of its own", "ps 1; worker 1", "restart 3; ps-never",
     "signal worker/0 9; +1.1; signal ps/0 9; +1", "exit 137; cause ps/0; worker/0 attempt 2"},
    {"The second wait is longer", "worker 1", "restart 3",
     "signal worker/0 9; +1.1; signal worker/0 9; +1.5", "runs; worker/0 waiting"},
    {"The budget is for the whole job", "worker 2", "restart 1",
     "signal worker/0 9; +20; signal worker/1 9; +1", "exit 137; cause worker/1"},
    {"What a failure takes along costs nothing more", "ps 1; worker 3", "restart 1",
     "signal ps/0 9; error worker/0 Unavailable; end worker/0 1; error worker/1 Unavailable; "
     "end worker/1 1; +1.1",
     "runs; worker/0 attempt 2; worker/1 attempt 2; ps/0 attempt 2"},
    {"The same task twice in one incident costs twice", "worker 1", "restart 1",
     "signal worker/0 9; +1.1; signal worker/0 9; +1", "exit 137; says in attempt 2 (--restart 1)"},
    {"A task over its memory limit is tried again once", "worker 1", "restart 9; memory",
     "memory worker/0 2000000; +1.1",
     "runs; worker/0 attempt 2; says over its memory limit of 1 MiB"},
    {"A task over its memory limit again at once ends the job", "worker 1", "restart 9; memory",
     "memory worker/0 2000000; +1.1; memory worker/0 3000000; +1",
     "exit 137; cause worker/0; says worker/0 failed first, over its memory limit of 1 MiB, in "
     "attempt 2"},
    {"A task over its memory limit again after further steps is tried again", "worker 1",
     "restart 9; memory",
     "memory worker/0 2000000; +1.1; step worker/0 5; memory worker/0 3000000; +20",
     "runs; worker/0 attempt 3"},
    {"The memory limit is no passing reason", "worker 1", "restart 3; passing; memory",
     "memory worker/0 2000000; +1", "exit 137; cause worker/0"},
    {"An own error is tried again once", "worker 1", "restart 9",
     "error worker/0 Internal same; end worker/0 1; +1.1; error worker/0 Internal same; end "
     "worker/0 "
     "1; +1",
     "exit 1; worker/0 attempt 2"},
    {"Another own error is tried again", "worker 1", "restart 9",
     "error worker/0 Internal a; end worker/0 1; +1.1; error worker/0 Internal b; end worker/0 1; "
     "+2.1",
     "runs; worker/0 attempt 3"},
    {"The same own error after further steps is tried again", "worker 1", "restart 9",
     "step worker/0 5; end worker/0 1; +1.1; step worker/0 9; end worker/0 1; +2.1",
     "runs; worker/0 attempt 3"},
    {"Steps that nobody heard of count", "worker 1", "restart 9",
     "step worker/0 5; end worker/0 1; +1.1; unheard worker/0 900; end worker/0 1; +2.1",
     "runs; worker/0 attempt 3"},
    {"A lack of room to start is tried again", "ps 1; worker 1", "restart 3",
     "signal worker/0 9; no-room; +1.1; room; +2.1", "runs; worker/0 running; worker/0 attempt 3"},
    {"A program that vanishes before it comes back ends the job in order", "ps 1; worker 1",
     "restart 3", "stubborn; vanishes; signal worker/0 9; +1.1; +1",
     "runs; worker/0 failed; did ask ps/0; not kill ps/0"},
    {"A program that vanished is the cause", "ps 1; worker 1", "restart 3",
     "vanishes; signal worker/0 9; +1.1", "exit 127; cause worker/0; ps/0 stopped"},
    {"Nothing comes back after the training", "ps 1; worker 1", "restart 3",
     "end worker/0 0; signal ps/0 9; +1", "exit 137; cause ps/0"},
    {"A server that waits to come back when the training ends is let go", "ps 1; worker 1",
     "restart 3", "signal ps/0 9; +0.5; end worker/0 0", "exit 0; ps/0 stopped"},
    {"A failure that ends the job names the first of all that are open", "ps 1; worker 1",
     "restart 9; passing", "signal ps/0 9; +0.5; end worker/0 2; +1",
     "exit 137; cause ps/0; worker/0 failed; ps/0 failed"},
};

class JobRules : public testing::TestWithParam<std::tuple<Rule, bool>> {};

TEST_P(JobRules, Hold) { play(std::get<0>(GetParam()), std::get<1>(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Table, JobRules,
                         testing::Combine(testing::ValuesIn(kRules), testing::Bool()), test_name);

// Looks at what a successor would read when somebody is asked to stop.
class Suspicious final : public FakePlatform {
 public:
  using FakePlatform::FakePlatform;
  void stop(const TaskId& task, StopHow how) override {
    ++asked;
    EXPECT_TRUE(saved.stop);
    FakePlatform::stop(task, how);
  }
  JobState saved;
  int asked = 0;
};

TEST(JobController, SavesWhyItStopsBeforeItStopsAnybody) {
  for (bool vanishes : {false, true}) {
    FakeLoop loop;
    Suspicious platform(loop);
    Notes notes;
    JobSpec spec{.groups = {{"ps", 1}, {"worker", 1}}, .program = {.path = "p"}};
    spec.timeout_seconds = 10;
    spec.restarts = 1;
    JobController controller(spec, {}, platform, loop, notes);
    controller.on_change([&] { platform.saved = controller.state(); });
    controller.start();
    if (vanishes) {
      platform.start_error = not_found("no such program");
      platform.end({"worker", 0}, 137, 9);
    }
    loop.advance(11);
    EXPECT_GE(platform.asked, 1);
    EXPECT_EQ(controller.report().exit_code, vanishes ? 127 : 124);
  }
}

}  // namespace
}  // namespace capstan::jobs
