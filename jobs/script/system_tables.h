#pragma once

// Tables about the session itself: what `!show` shows and ``load _mlsql_.`…` `` loads.

#include "jobs/script/session.h"

namespace capstan::script {

// `name`: jobs, jobs/<id>, tables, et, et/params/<algorithm>, functions, version, datasources.
// Throws NotFound with the nearest.
Rows system_table(Session& session, const std::string& name, const Place& place);

// Versions of the model at a path: `!model list` and, with what is known of each, `!model history`.
Rows model_table(const std::string& path, bool history);

}  // namespace capstan::script
