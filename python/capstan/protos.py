"""TensorFlow's messages that programs make or read, with its field numbers; see messages.py."""

from capstan.messages import Message


class GPUOptions(Message):
    FIELDS = """
        1 double per_process_gpu_memory_fraction
        2 string allocator_type
        3 int64 deferred_deletion_bytes
        4 bool allow_growth
        5 string visible_device_list
        6 int32 polling_active_delay_usecs
        7 int32 polling_inactive_delay_msecs
        8 bool force_gpu_compatible
    """


class OptimizerOptions(Message):
    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    FIELDS = """
        1 bool do_common_subexpression_elimination
        2 bool do_constant_folding
        3 enum opt_level
        4 bool do_function_inlining
        5 enum global_jit_level
        6 int64 max_folded_constant_in_bytes
    """


class RewriterConfig(Message):
    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    FIELDS = """
        1 enum layout_optimizer
        2 bool disable_model_pruning
        3 enum constant_folding
        4 enum memory_optimization
        7 enum arithmetic_optimization
        8 enum dependency_optimization
        9 enum loop_optimization
        10 enum function_optimization
        12 enum meta_optimizer_iterations
        14 enum remapping
        19 bool disable_meta_optimizer
    """


class GraphOptions(Message):
    FIELDS = """
        2 bool enable_recv_scheduling
        3 OptimizerOptions optimizer_options
        4 int64 build_cost_model
        5 bool infer_shapes
        6 bool place_pruned_graph
        7 bool enable_bfloat16_sendrecv
        8 int32 timeline_step
        9 int64 build_cost_model_after
        10 RewriterConfig rewrite_options
    """


class ThreadPoolOptionProto(Message):
    FIELDS = """
        1 int32 num_threads
        2 string global_name
    """


class RPCOptions(Message):
    FIELDS = """
        1 bool use_rpc_for_inprocess_master
        2 string compression_algorithm
        3 int32 compression_level
        4 bool cache_rpc_response
        5 bool disable_session_connection_sharing
    """


class JobDef(Message):
    FIELDS = """
        1 string name
        2 map<int32,string> tasks
    """


class ClusterDef(Message):
    FIELDS = "1 repeated JobDef job"


class ConfigProto(Message):
    class Experimental(Message):
        FIELDS = """
            1 string collective_group_leader
            3 string executor_type
            8 bool share_session_state_in_clusterspec_propagation
            9 bool disable_thread_spinning
        """

    FIELDS = """
        1 map<string,int32> device_count
        2 int32 intra_op_parallelism_threads
        3 int32 placement_period
        4 repeated string device_filters
        5 int32 inter_op_parallelism_threads
        6 GPUOptions gpu_options
        7 bool allow_soft_placement
        8 bool log_device_placement
        9 bool use_per_session_threads
        10 GraphOptions graph_options
        11 int64 operation_timeout_in_ms
        12 repeated ThreadPoolOptionProto session_inter_op_thread_pool
        13 RPCOptions rpc_options
        14 ClusterDef cluster_def
        15 bool isolate_session_state
        16 Experimental experimental
        17 bool share_cluster_devices_in_session
    """


class RunOptions(Message):
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    FIELDS = """
        1 enum trace_level
        2 int64 timeout_in_ms
        3 int32 inter_op_thread_pool
        5 bool output_partition_graphs
        7 bool report_tensor_allocations_upon_oom
    """


class NodeExecStats(Message):
    FIELDS = """
        1 string node_name
        2 int64 all_start_micros
        3 int64 op_start_rel_micros
        4 int64 op_end_rel_micros
        5 int64 all_end_rel_micros
        8 string timeline_label
        9 int64 scheduled_micros
        10 uint32 thread_id
    """


class DeviceStepStats(Message):
    FIELDS = """
        1 string device
        2 repeated NodeExecStats node_stats
    """


class StepStats(Message):
    FIELDS = "1 repeated DeviceStepStats dev_stats"


class RunMetadata(Message):
    FIELDS = """
        1 StepStats step_stats
        3 repeated GraphDef partition_graphs
    """


class ServerDef(Message):
    FIELDS = """
        1 ClusterDef cluster
        2 string job_name
        3 int32 task_index
        4 ConfigProto default_session_config
        5 string protocol
        6 int32 port
    """


class TensorShapeProto(Message):
    class Dim(Message):
        FIELDS = """
            1 int64 size
            2 string name
        """

    FIELDS = """
        2 repeated Dim dim
        3 bool unknown_rank
    """


class TensorProto(Message):
    FIELDS = """
        1 enum dtype
        2 TensorShapeProto tensor_shape
        3 int32 version_number
        4 bytes tensor_content
        13 repeated int32 half_val
        5 repeated float float_val
        6 repeated double double_val
        7 repeated int32 int_val
        8 repeated bytes string_val
        9 repeated float scomplex_val
        10 repeated int64 int64_val
        11 repeated bool bool_val
        16 repeated uint32 uint32_val
        17 repeated uint64 uint64_val
    """


class NameAttrList(Message):
    FIELDS = """
        1 string name
        2 map<string,AttrValue> attr
    """


class AttrValue(Message):
    class ListValue(Message):
        FIELDS = """
            2 repeated bytes s
            3 repeated int64 i
            4 repeated float f
            5 repeated bool b
            6 repeated enum type
            7 repeated TensorShapeProto shape
            8 repeated TensorProto tensor
            9 repeated NameAttrList func
        """

    FIELDS = """
        oneof value
        1 ListValue list
        2 bytes s
        3 int64 i
        4 float f
        5 bool b
        6 enum type
        7 TensorShapeProto shape
        8 TensorProto tensor
        9 string placeholder
        10 NameAttrList func
        end
    """


class NodeDef(Message):
    FIELDS = """
        1 string name
        2 string op
        3 repeated string input
        4 string device
        5 map<string,AttrValue> attr
    """


class VersionDef(Message):
    FIELDS = """
        1 int32 producer
        2 int32 min_consumer
        3 repeated int32 bad_consumers
    """


class GraphDef(Message):
    FIELDS = """
        1 repeated NodeDef node
        2 bytes library
        3 int32 version
        4 VersionDef versions
    """


class HistogramProto(Message):
    FIELDS = """
        1 double min
        2 double max
        3 double num
        4 double sum
        5 double sum_squares
        6 repeated double bucket_limit
        7 repeated double bucket
    """


class SummaryMetadata(Message):
    class PluginData(Message):
        FIELDS = """
            1 string plugin_name
            2 bytes content
        """

    FIELDS = """
        1 PluginData plugin_data
        2 string display_name
        3 string summary_description
        4 enum data_class
    """


class Summary(Message):
    class Image(Message):
        FIELDS = """
            1 int32 height
            2 int32 width
            3 int32 colorspace
            4 bytes encoded_image_string
        """

    class Audio(Message):
        FIELDS = """
            1 float sample_rate
            2 int64 num_channels
            3 int64 length_frames
            4 bytes encoded_audio_string
            5 string content_type
        """

    class Value(Message):
        FIELDS = """
            1 string tag
            7 string node_name
            9 SummaryMetadata metadata
            oneof value
            2 float simple_value
            3 bytes obsolete_old_style_histogram
            4 Image image
            5 HistogramProto histo
            6 Audio audio
            8 TensorProto tensor
            end
        """

    FIELDS = "1 repeated Value value"


# A nested message may name those beside it in its own class.
Summary.Value.Image = Summary.Image
Summary.Value.Audio = Summary.Audio


class SessionLog(Message):
    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    FIELDS = """
        1 enum status
        2 string checkpoint_path
        3 string msg
    """


class LogMessage(Message):
    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = 0, 10, 20, 30, 40, 50
    FIELDS = """
        1 enum level
        2 string message
    """


class TaggedRunMetadata(Message):
    FIELDS = """
        1 string tag
        2 bytes run_metadata
    """


class Event(Message):
    FIELDS = """
        1 double wall_time
        2 int64 step
        oneof what
        3 string file_version
        4 bytes graph_def
        5 Summary summary
        6 LogMessage log_message
        7 SessionLog session_log
        8 TaggedRunMetadata tagged_run_metadata
        9 bytes meta_graph_def
        end
    """


class BytesList(Message):
    FIELDS = "1 repeated bytes value"


class FloatList(Message):
    FIELDS = "1 repeated float value"


class Int64List(Message):
    FIELDS = "1 repeated int64 value"


class Feature(Message):
    FIELDS = """
        oneof kind
        1 BytesList bytes_list
        2 FloatList float_list
        3 Int64List int64_list
        end
    """


class Features(Message):
    FIELDS = "1 map<string,Feature> feature"


class FeatureList(Message):
    FIELDS = "1 repeated Feature feature"


class FeatureLists(Message):
    FIELDS = "1 map<string,FeatureList> feature_list"


class Example(Message):
    FIELDS = "1 Features features"


class SequenceExample(Message):
    FIELDS = """
        1 Features context
        2 FeatureLists feature_lists
    """


class SaverDef(Message):
    LEGACY, V1, V2 = 0, 1, 2
    FIELDS = """
        1 string filename_tensor_name
        2 string save_tensor_name
        3 string restore_op_name
        4 int32 max_to_keep
        5 bool sharded
        6 float keep_checkpoint_every_n_hours
        7 enum version
    """


class CheckpointState(Message):
    FIELDS = """
        1 string model_checkpoint_path
        2 repeated string all_model_checkpoint_paths
        3 repeated double all_model_checkpoint_timestamps
        4 double last_preserved_timestamp
    """


class HistogramBuckets(Message):
    FIELDS = "1 repeated double limit"


class NamedDevice(Message):
    FIELDS = """
        1 string name
        2 string device_type
    """
