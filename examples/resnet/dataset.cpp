#include "examples/resnet/dataset.h"

#include "train/formats/image_folder.h"
#include "train/vision/augment.h"
#include "train/vision/vision.h"

namespace halyard::examples::resnet {

namespace ds = dataset;
namespace C = dataset::vision;
namespace C2 = dataset::transforms;

ds::Dataset create_dataset(const std::string &dataset_path, int64_t batch_size, int64_t rank_size,
                           int64_t rank_id, bool do_train, const ImageOptions &o) {
    ds::Dataset data_set = ds::ImageFolderDataset(dataset_path, {.shuffle = do_train,
                                                                 .class_indexing = o.class_indexing,
                                                                 .on_error = o.on_error,
                                                                 .num_shards = rank_size,
                                                                 .shard_id = rank_id});
    const std::vector<double> mean = {0.485 * 255, 0.456 * 255, 0.406 * 255};
    const std::vector<double> std = {0.229 * 255, 0.224 * 255, 0.225 * 255};

    // define map operations: the shorter side becomes 256 for a crop of 224.
    std::vector<ds::Transform> trans = {
        C::Decode{o.max_pixels}, C::Resize(o.image_size * 256 / 224), C::CenterCrop(o.image_size)};
    const auto random_crop = C::RandomCropDecodeResize(o.image_size, {0.08, 1}, {3. / 4, 4. / 3},
                                                       ds::Inter::LINEAR, o.max_pixels);
    if (o.augment) trans = {random_crop, C::RandomHorizontalFlip(0.5)};
    trans.insert(trans.end(), {C::Normalize(mean, std), C::HWC2CHW()});
    const auto type_cast_op = C2::TypeCast(DType::i32);

    // call data operations by map
    data_set = data_set.map(
        trans, "image", {},
        {.num_parallel_workers = o.num_parallel_workers, .on_error = o.on_error});
    data_set = data_set.map(type_cast_op, "label", {},
                            {.num_parallel_workers = o.num_parallel_workers});

    // apply batch operations
    return data_set.batch(batch_size, /*drop_remainder=*/do_train);
}

}  // namespace halyard::examples::resnet
