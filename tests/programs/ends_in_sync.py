"""Trains in sync under a Supervisor that nobody stops: its services and the chief's queue runner are
in their waits when the script is over. Run by test_ends.py.

    ends_in_sync.py <end> <job> <ps address> <worker address>
"""

import sys

import tensorflow as tf

end, job, addresses = sys.argv[1], sys.argv[2], sys.argv[3:]
cluster = tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})
server = tf.train.Server(cluster, job_name=job, task_index=0)
if job == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", [])
    descent = tf.train.GradientDescentOptimizer(0.1)
    descent = tf.train.SyncReplicasOptimizer(descent, replicas_to_aggregate=1, total_num_replicas=1)
    train = descent.minimize(tf.square(weight), global_step=step)
    tokens, runner = descent.get_init_tokens_op(), descent.get_chief_queue_runner()
    supervisor = tf.train.Supervisor(
        is_chief=True,
        init_op=tf.global_variables_initializer(),
        local_init_op=descent.chief_init_op,
        ready_for_local_init_op=descent.ready_for_local_init_op,
        global_step=step,
        save_model_secs=1,
        logdir="training",
    )
session = supervisor.prepare_or_wait_for_session(server.target)
supervisor.start_queue_runners(session, [runner])
session.run(tokens)
for _ in range(20):
    session.run(train)
print("trained", flush=True)
if end == "raise":
    raise ValueError("its own")
sys.exit(int(end))
