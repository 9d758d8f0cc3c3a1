#include "jobs/k8s/kube_config_files.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "jobs/k8s/base64.h"
#include "jobs/k8s/yaml.h"

namespace capstan::jobs::k8s {
namespace {

using nlohmann::json;

constexpr ReadLimits kLimits = {.bytes = 4 << 20, .nodes = 100'000, .depth = 32};

const json kNoFields = json::object();

struct ConfigFile {
  std::string path, text;
  Document document;
};

// One object within a file, and how to speak of it.
class Part {
 public:
  Part() = default;
  Part(const ConfigFile& file, const json& object, std::string path)
      : file_(&file), object_(&object), path_(std::move(path)) {}

  explicit operator bool() const { return object_ != nullptr; }

  Error wrong(std::string_view field, std::string_view message) const {
    const TextPlace place = place_of(file_->document.places, path_ + "." + std::string(field));
    return invalid_argument("{}", placed_text(file_->text, file_->path, place,
                                              fmt::format("{}.{}: {}", path_, field, message)));
  }
  bool has(std::string_view field) const {
    auto found = object_->find(field);
    return found != object_->end() && !found->is_null();
  }
  std::string text(std::string_view field) const {
    if (!has(field)) return "";
    const json& value = (*object_)[std::string(field)];
    if (!value.is_string()) throw wrong(field, "must be a text");
    return value.get<std::string>();
  }
  bool flag(std::string_view field) const {
    if (!has(field)) return false;
    const json& value = (*object_)[std::string(field)];
    if (!value.is_boolean()) throw wrong(field, "must be true or false");
    return value.get<bool>();
  }
  Part part(const std::string& field) const {
    if (!has(field)) return {};
    const json& value = (*object_)[field];
    if (!value.is_object()) throw wrong(field, "must have fields");
    return Part(*file_, value, path_ + "." + field);
  }
  // Relative to the file that names it.
  std::string file_path(std::string_view field) const {
    const std::string path = text(field);
    return path.empty() ? path : join_path(dir_of(file_->path), path);
  }
  // `field`-data, base64, before the file that `field` names.
  std::string bytes(const std::string& field, Files& files) const {
    const std::string data_field = field + "-data";
    if (const std::string data = text(data_field); !data.empty()) {
      auto bytes = base64_decode(data);
      if (!bytes) throw wrong(data_field, "is no base64");
      return *bytes;
    }
    const std::string path = file_path(field);
    if (path.empty()) return "";
    try {
      return files.read(path);
    } catch (const Error& error) {
      throw wrong(field, "cannot be read: " + error.message());
    }
  }
  const std::string& path() const { return path_; }

 private:
  const ConfigFile* file_ = nullptr;
  const json* object_ = nullptr;
  std::string path_;
};

ConfigFile read_file(const std::string& path, Files& files) {
  ConfigFile file{.path = path};
  const auto info = files.stat(path);
  if (!info) {
    throw not_found("the kubeconfig {} is not there. Name another with --kubeconfig", path);
  }
  if (info->size > kLimits.bytes) {
    throw invalid_argument("{} has {} bytes, which is too long for a kubeconfig", path, info->size);
  }
  file.text = files.read(path);
  std::vector<Document> documents = read_documents(file.text, path, kLimits);
  if (documents.empty()) documents.push_back({.json = std::make_shared<const json>(kNoFields)});
  file.document = std::move(documents[0]);
  if (!file.document.json->is_object()) {
    throw invalid_argument("{} is no kubeconfig: it has no fields. `kubectl config view` shows one",
                           path);
  }
  return file;
}

using FileList = std::vector<ConfigFile>;

std::string first_text(const FileList& files, const char* field) {
  for (const ConfigFile& file : files) {
    auto found = file.document.json->find(field);
    if (found != file.document.json->end() && found->is_string() && !found->empty()) {
      if (auto text = found->get<std::string>(); !text.empty()) return text;
    }
  }
  return "";
}

// Elements of `list` (clusters, users, contexts) in one file, with their own part.
template <class Use>
void each(const ConfigFile& file, const std::string& list, const std::string& field, Use use) {
  auto found = file.document.json->find(list);
  if (found == file.document.json->end() || !found->is_array()) return;
  for (size_t i = 0; i < found->size(); ++i) {
    const json& element = (*found)[i];
    if (!element.is_object() || !element.contains("name") || !element["name"].is_string()) continue;
    const std::string path = fmt::format("{}[{}]", list, i);
    const Part part = Part(file, element, path).part(field);
    use(element["name"].get<std::string>(),
        part ? part : Part(file, kNoFields, path + "." + field));
  }
}

Part find(const FileList& files, const std::string& list, const std::string& field,
          const std::string& name, std::string& known) {
  Part found;
  for (const ConfigFile& file : files) {
    each(file, list, field, [&](const std::string& there, const Part& part) {
      known += (known.empty() ? "" : ", ") + there;
      if (there == name && !found) found = part;
    });
  }
  return found;
}

std::string names_of(const FileList& files) {
  std::string names;
  for (const ConfigFile& file : files) names += (names.empty() ? "" : ":") + file.path;
  return names;
}

Part must_find(const FileList& files, const std::string& list, const std::string& field,
               const std::string& name, const std::string& asker) {
  std::string known;
  if (Part part = find(files, list, field, name, known)) return part;
  throw invalid_argument(
      "{}: {} names the {} '{}', which is not among its {}: {}. Choose a context "
      "with --context, or set one with `kubectl config use-context`",
      names_of(files), asker, field, name, list, known.empty() ? "there are none" : known);
}

std::string without_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

void take_cluster(const Part& cluster, Files& files, KubeConfig& config) {
  config.server = without_slash(cluster.text("server"));
  const bool address =
      config.server.starts_with("https://") || config.server.starts_with("http://");
  if (!address) {
    throw cluster.wrong("server", "must be an address such as https://10.0.0.1:6443");
  }
  config.insecure = cluster.flag("insecure-skip-tls-verify");
  config.ca = cluster.bytes("certificate-authority", files);
  if (config.insecure && !config.ca.empty()) {
    throw cluster.wrong("insecure-skip-tls-verify",
                        "makes no sense beside a certificate authority: leave out one of them");
  }
  config.tls_server_name = cluster.text("tls-server-name");
  config.proxy = cluster.text("proxy-url");
}

// Says what stands there, and how to do without it.
void refuse_what_we_cannot(const Part& user) {
  if (const Part exec = user.part("exec")) {
    throw Error(Code::kUnimplemented,
                exec.wrong("command",
                           fmt::format("credentials that the program '{}' makes are not supported. "
                                       "Make a token for a service account and put it there "
                                       "instead: `kubectl create token NAME` gives one",
                                       exec.text("command")))
                    .message());
  }
  if (const Part provider = user.part("auth-provider")) {
    throw Error(Code::kUnimplemented,
                provider
                    .wrong("name", fmt::format("the auth-provider '{}' is not supported (nor by "
                                               "kubectl since 1.26). Use a token or a client "
                                               "certificate: `kubectl create token NAME`",
                                               provider.text("name")))
                    .message());
  }
  if (user.has("username") || user.has("password")) {
    throw Error(Code::kUnimplemented,
                user.wrong("username",
                           "API servers take no password since 1.19. Use a token or a client "
                           "certificate: `kubectl create token NAME`")
                    .message());
  }
}

void take_user(const Part& user, Files& files, KubeConfig& config) {
  config.token = user.text("token");
  config.token_file = user.file_path("tokenFile");
  config.certificate = user.bytes("client-certificate", files);
  config.key = user.bytes("client-key", files);
  if (config.certificate.empty() != config.key.empty()) {
    throw user.wrong(config.key.empty() ? "client-certificate" : "client-key",
                     "a client certificate and its key go together; the other one is missing");
  }
  const bool known = !config.token.empty() || !config.token_file.empty() || !config.key.empty();
  if (!known) refuse_what_we_cannot(user);
  if (!config.token_file.empty() && !files.exists(config.token_file)) {
    throw user.wrong("tokenFile", config.token_file + " is not there");
  }
}

}  // namespace

KubeConfig read_kubeconfig(const std::vector<std::string>& paths, const KubeChoice& choice,
                           Files& files) {
  FileList list;
  for (const std::string& path : paths) list.push_back(read_file(path, files));
  const bool chosen = !choice.context.empty();
  const std::string name = chosen ? choice.context : first_text(list, "current-context");
  if (name.empty()) {
    throw invalid_argument(
        "{}: no current-context is set. Choose one with --context or `kubectl "
        "config use-context`",
        names_of(list));
  }
  const Part context =
      must_find(list, "contexts", "context", name, chosen ? "--context" : "current-context");
  KubeConfig config;
  config.source = fmt::format("{}, context {}", names_of(list), name);
  if (const std::string space = context.text("namespace"); !space.empty()) config.space = space;
  take_cluster(must_find(list, "clusters", "cluster", context.text("cluster"), context.path()),
               files, config);
  if (!context.text("user").empty()) {
    take_user(must_find(list, "users", "user", context.text("user"), context.path()), files,
              config);
  }
  return config;
}

}  // namespace capstan::jobs::k8s
