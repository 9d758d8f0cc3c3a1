#pragma once

// ``run t as TableRepartition.`` where partitionNum="4" as t2``: as many workers train on t2.

#include "jobs/script/algorithm.h"

namespace capstan::script {

extern const Algorithm kTableRepartition;
extern const Algorithm kRepartitionExt;  // another name of the same

}  // namespace capstan::script
