"""Where each public name of TensorFlow lives here.

One block per module of TensorFlow ("" is `tensorflow` itself). A line "file: a b=c" says that a is
capstan.file.a and b is capstan.file.c; "modules: x=y" says that x is the module capstan.y. Names
that no line has, but that an op of the catalog does, get the function derived from its row.
"""

TABLE = {
    "": """
        modules: app flags logging=logs gfile errors
        about: __version__ __git_version__ VERSION GIT_VERSION COMPILER_VERSION __compiler_version__
        about: GRAPH_DEF_VERSION
        graph: Graph GraphKeys name_scope op_scope device colocate_with control_dependencies
        graph: container
        graph: init_scope get_default_graph reset_default_graph add_to_collection add_to_collections
        graph: get_collection get_collection_ref set_random_seed get_seed executing_eagerly
        graph: register_tensor_conversion_function
        elements: Tensor Operation
        errors: OpError
        dtypes: DType as_dtype float16 float32 float64 double half int8 int16 int32 int64 uint8
        dtypes: uint16
        dtypes: uint32 uint64 bool string complex64 resource float32_ref float64_ref int32_ref
        dtypes: int64_ref
        dtypes: string_ref bool_ref
        shapes: TensorShape Dimension dimension_value
        convert: constant convert_to_tensor convert_to_tensor_or_indexed_slices is_tensor
        graph_defs: make_tensor_proto make_ndarray
        compat: disable_v2_behavior disable_eager_execution disable_resource_variables
        compat: disable_v2_tensorshape disable_control_flow_v2 disable_tensor_equality
        compat: enable_v2_behavior enable_eager_execution enable_resource_variables
        compat: enable_v2_tensorshape enable_control_flow_v2
        sparse: IndexedSlices SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor
        math_ops: add subtract sub=subtract multiply mul=multiply negative neg=negative truediv
        math_ops: divide
        math_ops: div floordiv mod floormod=mod pow logical_xor equal not_equal abs sigmoid round
        math_ops: cast
        math_ops: saturate_cast to_float to_double to_int32 to_int64 add_n
        math_ops: accumulate_n
        math_ops: reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_all reduce_any
        math_ops: reduce_logsumexp argmax argmin arg_max arg_min range matmul batch_matmul
        array_ops: placeholder placeholder_with_default identity stop_gradient shape size rank
        array_ops: reshape
        array_ops: expand_dims squeeze transpose fill zeros ones zeros_like ones_like one_hot concat
        array_ops: split stack pack unstack unpack slice=slice_ strided_slice gather where
        array_ops: select=where
        array_ops: pad boolean_mask newaxis
        random_ops: random_normal truncated_normal random_uniform random_shuffle
        nn_ops: zero_fraction
        control_ops: no_op group tuple=tuple_ with_dependencies
        variables: Variable assign assign_add assign_sub global_variables
        variables: all_variables=global_variables
        variables: local_variables trainable_variables model_variables moving_average_variables
        variables: global_variables_initializer
        variables: initialize_all_variables=global_variables_initializer
        variables: local_variables_initializer
        variables: initialize_local_variables=local_variables_initializer
        variables: variables_initializer initialize_variables=variables_initializer
        variables: is_variable_initialized report_uninitialized_variables
        variables: assert_variables_initialized
        variables: VariableAggregation VariableSynchronization tables_initializer
        variables: initialize_all_tables=tables_initializer
        variable_scope: get_variable variable_scope VariableScope get_variable_scope
        variable_scope: variable_op_scope get_local_variable AUTO_REUSE no_regularizer
        initializers: zeros_initializer ones_initializer constant_initializer
        initializers: random_normal_initializer
        initializers: random_uniform_initializer truncated_normal_initializer
        initializers: glorot_uniform_initializer glorot_normal_initializer
        initializers: variance_scaling_initializer
        gradients: gradients AggregationMethod UnconnectedGradients
        clip: clip_by_value clip_by_norm clip_by_global_norm global_norm
        session: Session InteractiveSession get_default_session
        protos: ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions RunMetadata GraphDef
        protos: NodeDef AttrValue Summary Event SessionLog LogMessage HistogramProto SummaryMetadata
        cluster: DeviceSpec
        importer: import_graph_def
        queues: QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue
        queues: ConditionalAccumulator
        summary: scalar_summary histogram_summary image_summary merge_summary merge_all_summaries
        meta_graphs: MetaGraphDef
    """,
    "nn": """
        nn_ops: relu leaky_relu relu_layer xw_plus_b bias_add l2_loss l2_normalize softmax
        nn_ops: log_softmax
        nn_ops: softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2
        nn_ops: sparse_softmax_cross_entropy_with_logits sigmoid_cross_entropy_with_logits
        nn_ops: weighted_cross_entropy_with_logits in_top_k dropout zero_fraction
        math_ops: sigmoid
    """,
    "math": """
        math_ops: add subtract multiply negative truediv divide floordiv mod floormod=mod pow
        math_ops: logical_xor
        math_ops: equal not_equal abs sigmoid round add_n accumulate_n reduce_sum reduce_mean
        math_ops: reduce_max
        math_ops: reduce_min reduce_prod reduce_all reduce_any reduce_logsumexp argmax argmin
        nn_ops: in_top_k zero_fraction
    """,
    "linalg": """
        math_ops: matmul
    """,
    "random": """
        random_ops: normal=random_normal uniform=random_uniform truncated_normal
        random_ops: shuffle=random_shuffle
        graph: set_random_seed
    """,
    "dtypes": """
        dtypes: DType as_dtype float16 float32 float64 int8 int16 int32 int64 uint8 bool string
    """,
    "initializers": """
        initializers: zeros=zeros_initializer ones=ones_initializer constant=constant_initializer
        initializers: random_normal=random_normal_initializer
        initializers: random_uniform=random_uniform_initializer
        initializers: truncated_normal=truncated_normal_initializer
        initializers: glorot_uniform=glorot_uniform_initializer
        initializers: glorot_normal=glorot_normal_initializer
        initializers: variance_scaling=variance_scaling_initializer
        variables: global_variables=global_variables_initializer
        variables: local_variables=local_variables_initializer variables=variables_initializer
    """,
    "layers": """
        layers: dense Dense flatten dropout
    """,
    "losses": """
        losses: mean_squared_error softmax_cross_entropy sparse_softmax_cross_entropy
        losses: sigmoid_cross_entropy absolute_difference add_loss get_losses get_total_loss
        losses: get_regularization_loss get_regularization_losses compute_weighted_loss Reduction
        losses: log_loss
    """,
    "train": """
        cluster: ClusterSpec Server replica_device_setter
        protos: ClusterDef JobDef ServerDef SaverDef Example SequenceExample Features Feature
        protos: FeatureList
        protos: FeatureLists BytesList FloatList Int64List
        optimizers: Optimizer GradientDescentOptimizer MomentumOptimizer AdagradOptimizer
        optimizers: AdamOptimizer
        sync_replicas: SyncReplicasOptimizer SyncReplicasOptimizerV2=SyncReplicasOptimizer
        decay: exponential_decay natural_exp_decay inverse_time_decay polynomial_decay
        decay: piecewise_constant piecewise_constant_decay=piecewise_constant cosine_decay
        moving_averages: ExponentialMovingAverage
        global_step: get_global_step create_global_step get_or_create_global_step assert_global_step
        global_step: global_step
        saver: Saver
        checkpoints: latest_checkpoint get_checkpoint_state update_checkpoint_state
        checkpoints: checkpoint_exists checkpoints_iterator
        checkpoints: CheckpointState list_variables load_variable load_checkpoint
        checkpoints: NewCheckpointReader
        checkpoints: remove_checkpoint get_checkpoint_mtimes
        meta_graphs: export_meta_graph import_meta_graph write_graph MetaGraphDef
        supervisor: Supervisor basic_train_loop
        session_manager: SessionManager
        monitored_session: MonitoredTrainingSession MonitoredSession SingularMonitoredSession
        scaffold: Scaffold ChiefSessionCreator WorkerSessionCreator SessionCreator
        hooks: SessionRunHook SessionRunArgs SessionRunContext SessionRunValues LoggingTensorHook
        hooks: NanTensorHook NanLossDuringTrainingError FinalOpsHook GlobalStepWaiterHook FeedFnHook
        step_hooks: StopAtStepHook CheckpointSaverHook CheckpointSaverListener StepCounterHook
        step_hooks: SummarySaverHook
        timers: SecondOrStepTimer
        coordinator: Coordinator LooperThread
        queue_runner: QueueRunner add_queue_runner start_queue_runners
        summary: SummaryWriter=FileWriter summary_iterator
    """,
    "train.queue_runner": """
        queue_runner: QueueRunner add_queue_runner start_queue_runners
    """,
    "summary": """
        summary: scalar histogram image merge merge_all FileWriter FileWriterCache
        protos: Summary Event SessionLog SummaryDescription=SummaryMetadata
    """,
    "test": """
        testing: TestCase main Benchmark get_temp_dir is_built_with_cuda is_gpu_available
        testing: create_local_cluster
    """,
    "compat": """
        compat: as_bytes as_text as_str as_str_any path_to_str
    """,
    "graph_util": """
        importer: extract_sub_graph convert_variables_to_constants
    """,
    "saved_model": "",
    "python_io": """
        records: TFRecordWriter tf_record_iterator TFRecordOptions TFRecordCompressionType
    """,
    "raw_ops": "",
    "sets": "",
    "contrib": "",
    "contrib.framework": """
        global_step: get_or_create_global_step get_global_step create_global_step assert_global_step
        variables: get_trainable_variables=trainable_variables get_variables=global_variables
        checkpoints: list_variables load_variable load_checkpoint
    """,
    "contrib.training": """
        cluster: GreedyLoadBalancingStrategy byte_size_load_fn
    """,
    "contrib.layers": """
        initializers: xavier_initializer
        initializers: variance_scaling_initializer=contrib_variance_scaling_initializer
        regularizers: l1_regularizer l2_regularizer sum_regularizer l1_l2_regularizer
        regularizers: apply_regularization
        layers: flatten
    """,
    "contrib.learn": "",
    "contrib.learn.datasets": """
        mnist: load_mnist
    """,
    "examples": "",
    "examples.tutorials": "",
    "examples.tutorials.mnist": """
        modules: input_data=mnist mnist=mnist_model
    """,
    "models": "",
    "python": "",
    "python.platform": """
        modules: gfile app flags tf_logging=logs
    """,
    "python.framework": """
        modules: errors errors_impl=errors dtypes
    """,
    "python.client": """
        modules: timeline
    """,
    "python.client.device_lib": """
        devices: list_local_devices
    """,
    "python.training.summary_io": """
        summary: SummaryWriterCache=FileWriterCache SummaryWriter=FileWriter
    """,
    "python.lib.io": """
        modules: file_io=gfile
    """,
}

# Modules under a second name.
ALIASES = {
    "compat.v1": "",
    "contrib.learn.datasets.mnist": "examples.tutorials.mnist.input_data",
    "contrib.learn.python.learn.datasets.mnist": "examples.tutorials.mnist.input_data",
    "contrib.learn.python.learn": "contrib.learn",
    "contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "keras.initializers": "initializers",
}

# Modules whose names, where no line has them, are looked for in these: `tensorflow.python.ops.*` and
# its kin show the same functions as the public modules.
SEARCHED = ("", "nn", "train", "layers", "losses", "summary", "test", "graph_util")
PRIVATE = "python"
PRIVATE_PARTS = "client data estimator framework keras lib ops platform saved_model summary training util".split()
# Below these, anything can be imported and looked up, and fails where it is used.
OPEN = ("contrib", "python", "core", "examples", "models", "estimator", "keras")
# Among these, names are those of the public modules.
INNER = (PRIVATE, "core")
# Modules that show the ops of the catalog.
DERIVED = ("", "nn", "math", "linalg", "raw_ops", "random", "image", "strings", "sets")


def parse(block):
    """{name: (module, attribute or None for the module itself)} of one block."""
    out = {}
    for line in block.strip().splitlines():
        file, _, words = line.strip().partition(": ")
        for word in words.split():
            name, _, source = word.partition("=")
            source = source or name
            out[name] = (source, None) if file == "modules" else (file, source)
    return out
