// SavedModels that TensorFlow wrote: tests/oracle/saved_models.py.

#include <gtest/gtest.h>

#include "source_dir.h"
#include "train/loaded_model.h"

namespace capstan {
namespace {

class SavedModels : public testing::TestWithParam<const char*> {};

TEST_P(SavedModels, AnswerHereWhatTheyAnsweredThere) {
  const std::string folder =
      fmt::format("{}/tests/golden/saved_models/{}", source_dir(), GetParam());
  const LoadedModel model = LoadedModel::open(posix_files(), folder);
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].name, "features");
  EXPECT_EQ(model.outputs()[1].name, "class");
  EXPECT_EQ(model.variables().size(), 4u);
  const Tensor rows = Tensor::of<float>({2, 3}, {0.5f, -1, 2, 0, 0.25f, -0.75f});
  const std::vector<Tensor> answers = model.run({{rows}});
  const float expected[] = {0.58167851f, 0.41832152f, 0.88525897f, 0.11474104f};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(answers[0].data<float>()[i], expected[i], 1e-6);
  EXPECT_TRUE(answers[1].equals(Tensor::of<int64_t>({2}, {0, 0})));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SavedModels, testing::Values("references", "resources"));

}  // namespace
}  // namespace capstan
