# frozen_string_literal: true

# Active Record's connection pool in this process: each thread that runs handlers needs a
# connection. If Active Record isn't loaded, it says nothing.
#
#   DatabasePool.warning(5)         # => a sentence if the pool has fewer than 5 connections; nil
#   DatabasePool.exhausted?(error)  # true if a handler got no connection from the pool
#   DatabasePool.hint(5)            # what to do about that
#
# A handler that gets no connection hasn't seen its message: that isn't the message's failure.
module Skep
  module Kafka
    module Failure
      module DatabasePool
        TIMEOUT = "ActiveRecord::ConnectionTimeoutError"
        OPTION = "max_connections in config/database.yml, which is pool before Rails 8.1,"
        private_constant :TIMEOUT, :OPTION

        class << self
          def warning(threads)
            connections = size
            return if connections.nil? || connections >= threads

            "Active Record's pool has #{connections} connections for this source's #{threads} " \
              "threads, so handlers wait for one and may fail: set #{OPTION} to #{threads} or " \
              "more, or threads to #{connections} or fewer"
          end

          def exhausted?(error)
            error.class.ancestors.any? { |one| one.name == TIMEOUT }
          rescue UserError # in a `name` of the user's class
            false
          end

          def hint(threads)
            "No connection of Active Record's pool (#{size || "size unknown"}) was free for one " \
              "of #{threads} threads. That isn't a failure of the message: it is retried until " \
              "there is one. Set #{OPTION} to #{threads} or more"
          end

          private

          # Returns nil if Active Record isn't loaded, has no database, or has no limit.
          def size
            loaded = defined?(::ActiveRecord) && !::ActiveRecord.autoload?(:Base) &&
                     ::ActiveRecord.const_defined?(:Base, false)
            ::ActiveRecord::Base.connection_pool.size if loaded
          rescue ::ActiveRecord::ActiveRecordError # no database is configured
            nil
          end
        end
      end
    end
  end
end
