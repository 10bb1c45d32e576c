# frozen_string_literal: true

# The C functions that Bindings binds, one a line: the type of its result, its name without
# "rd_kafka_", the types of its parameters.
#
#   Functions.each { |name, function, parameters, result, blocking| … }
#
# Functions that wait for another thread of librdkafka (BLOCKING) are called without the GVL.
module Skep
  module Kafka
    module Librdkafka
      module Bindings
        module Functions
          NONBLOCKING = <<~TABLE
            string err2str int
            string err2name int
            int errno2err int
            int error_code pointer
            int32 consumer_group_metadata_generation_id pointer
            string error_string pointer
            void error_destroy pointer
            int error_is_retriable pointer
            int error_is_fatal pointer
            int error_txn_requires_abort pointer
            pointer conf_new
            void conf_destroy pointer
            int conf_set pointer string string pointer size_t
            void conf_set_events pointer int
            void conf_enable_sasl_queue pointer int
            pointer queue_get_sasl pointer
            int oauthbearer_set_token pointer string int64 string pointer size_t pointer size_t
            int oauthbearer_set_token_failure pointer string
            pointer new int pointer pointer size_t
            int last_error
            int set_log_queue pointer pointer
            int poll_set_consumer pointer
            int fatal_error pointer pointer size_t
            pointer queue_new pointer
            pointer queue_get_main pointer
            pointer queue_get_consumer pointer
            pointer queue_get_partition pointer string int32
            void queue_destroy pointer
            void queue_forward pointer pointer
            void queue_io_event_enable pointer int pointer size_t
            pointer queue_poll pointer int
            ssize_t consume_batch_queue pointer int pointer size_t
            int event_type pointer
            void event_destroy pointer
            int event_error pointer
            string event_error_string pointer
            int event_error_is_fatal pointer
            int event_log pointer pointer pointer pointer
            string event_stats pointer
            pointer event_topic_partition_list pointer
            size_t event_message_array pointer pointer size_t
            void message_destroy pointer
            int64 message_timestamp pointer pointer
            int message_headers pointer pointer
            int header_get_all pointer size_t pointer pointer pointer
            pointer topic_partition_list_new int
            void topic_partition_list_destroy pointer
            pointer topic_partition_list_add pointer string int32
            int topic_partition_list_del pointer string int32
            int topic_partition_list_set_offset pointer string int32 int64
            int32 topic_partition_get_leader_epoch pointer
            void topic_partition_set_leader_epoch pointer int32
            int assignment_lost pointer
            int get_watermark_offsets pointer string int32 pointer pointer
            void mem_free pointer pointer
            pointer mem_malloc pointer size_t
            int offsets_store pointer pointer
            int position pointer pointer
            int commit_queue pointer pointer pointer pointer pointer
            pointer consumer_close_queue pointer pointer
            int consumer_closed pointer
            pointer topic_new pointer string pointer
            void topic_destroy pointer
            int produce pointer int32 int buffer_in size_t buffer_in size_t uint64
            pointer produceva pointer pointer size_t
            pointer headers_new size_t
            int header_add pointer buffer_in ssize_t buffer_in ssize_t
            void headers_destroy pointer
            int outq_len pointer
            int purge pointer int
            pointer AdminOptions_new pointer int
            void AdminOptions_destroy pointer
            int AdminOptions_set_request_timeout pointer int pointer size_t
            pointer AdminOptions_set_isolation_level pointer int
            void metadata_destroy pointer
            void ListConsumerGroupOffsets pointer pointer size_t pointer pointer
            pointer ListConsumerGroupOffsets_new string pointer
            void ListConsumerGroupOffsets_destroy pointer
            pointer ListConsumerGroupOffsets_result_groups pointer pointer
            pointer group_result_error pointer
            pointer group_result_partitions pointer
            void DescribeConsumerGroups pointer pointer size_t pointer pointer
            pointer DescribeConsumerGroups_result_groups pointer pointer
            pointer ConsumerGroupDescription_error pointer
            int ConsumerGroupDescription_state pointer
            string consumer_group_state_name int
            string ConsumerGroupDescription_partition_assignor pointer
            size_t ConsumerGroupDescription_member_count pointer
            pointer ConsumerGroupDescription_member pointer size_t
            string MemberDescription_client_id pointer
            string MemberDescription_consumer_id pointer
            string MemberDescription_group_instance_id pointer
            string MemberDescription_host pointer
            pointer MemberDescription_assignment pointer
            pointer MemberAssignment_partitions pointer
            void ListOffsets pointer pointer pointer pointer
            pointer ListOffsets_result_infos pointer pointer
            pointer ListOffsetsResultInfo_topic_partition pointer
            pointer NewTopic_new string int int pointer size_t
            void NewTopic_destroy pointer
            void CreateTopics pointer pointer size_t pointer pointer
            pointer CreateTopics_result_topics pointer pointer
            int topic_result_error pointer
            string topic_result_error_string pointer
            pointer DeleteTopic_new string
            void DeleteTopic_destroy pointer
            void DeleteTopics pointer pointer size_t pointer pointer
            pointer DeleteRecords_new pointer
            void DeleteRecords_destroy pointer
            void DeleteRecords pointer pointer size_t pointer pointer
            pointer DeleteRecords_result_offsets pointer
            pointer DeleteTopics_result_topics pointer pointer
            pointer TopicCollection_of_topic_names pointer size_t
            void TopicCollection_destroy pointer
            void DescribeTopics pointer pointer pointer pointer
            pointer DescribeTopics_result_topics pointer pointer
            string TopicDescription_name pointer
            pointer TopicDescription_topic_id pointer
            pointer TopicDescription_error pointer
            string Uuid_base64str pointer
            pointer mock_cluster_new pointer int
            string mock_cluster_bootstraps pointer
            int mock_topic_create pointer string int int
            void mock_topic_set_error pointer string int
            int mock_partition_set_leader pointer string int32 int32
            void mock_push_request_errors_array pointer int16 size_t pointer
            void mock_group_initial_rebalance_delay_ms pointer int32
            int mock_broker_set_rtt pointer int32 int
            int mock_broker_set_down pointer int32
            int mock_broker_set_up pointer int32
          TABLE

          BLOCKING = <<~TABLE
            pointer queue_wait=queue_poll pointer int
            int subscribe pointer pointer
            int unsubscribe pointer
            pointer memberid pointer
            pointer clusterid pointer int
            int assign pointer pointer
            pointer incremental_assign pointer pointer
            pointer incremental_unassign pointer pointer
            pointer seek_partitions pointer pointer int
            int metadata pointer int pointer pointer int
            string rebalance_protocol pointer
            int committed pointer pointer int
            int offsets_for_times pointer pointer int
            int query_watermark_offsets pointer string int32 pointer pointer int
            int flush pointer int
            pointer init_transactions pointer int
            pointer begin_transaction pointer
            pointer send_offsets_to_transaction pointer pointer pointer int
            pointer commit_transaction pointer int
            pointer abort_transaction pointer int
            pointer consumer_group_metadata pointer
            void consumer_group_metadata_destroy pointer
            void destroy_flags pointer int
            void mock_cluster_destroy pointer
          TABLE
          private_constant :NONBLOCKING, :BLOCKING

          def self.each(&block)
            { NONBLOCKING => false, BLOCKING => true }.each do |table, blocking|
              table.each_line(chomp: true) { |line| block.call(*parse(line), blocking) }
            end
          end

          # "name=function" binds a function under another name.
          def self.parse(line)
            result, name, *parameters = line.split
            name, function = name.split("=")
            [name.to_sym, :"rd_kafka_#{function || name}", parameters.map(&:to_sym), result.to_sym]
          end
          private_class_method :parse
        end
      end
    end
  end
end
