set(HALYARD_ASCEND_TESTS
  ascend/calibration_test.cpp
  ascend/hazards_test.cpp
  ascend/metrics_test.cpp
  ascend/move_test.cpp
  ascend/sync_test.cpp
  ascend/text_test.cpp
  ascend/vector_test.cpp)
