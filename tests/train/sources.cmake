set(HALYARD_TRAIN_TESTS
  train/checkpoint_test.cpp
  train/idx_test.cpp
  train/lenet5_test.cpp
  train/metrics_test.cpp
  train/model_test.cpp
  train/pipeline_test.cpp
  train/vision_test.cpp)
