# frozen_string_literal: true

require "skep/kafka/testing"

module Verdicts
  # The messages of a life: so many are always waiting in each partition. Message ID has the offset
  # ID / PARTITIONS in the partition ID % PARTITIONS.
  #
  #   stream = Stream.new(bootstrap, topic, file)
  #   stream.pump             # reads what was handled, and feeds as many again
  #   stream.handled?(17)     # true if a handler has finished it
  #   stream.tries(17)        # of a bad message
  #   stream.last_by(pid)     # when this process finished a message last
  #   stream.ahead(3, 10)     # => the ID of the tenth message behind what is handled in partition 3
  #   stream.gaps(limit)      # => IDs below the limit of each partition that nothing has handled
  class Stream
    PARTITIONS = 6
    WAITING = 500 # messages of each partition
    CHUNK = 50 # that a partition is fed at a time
    KEYS = 50 # of each partition

    attr_reader :last_at # when a message was handled last

    def initialize(bootstrap, topic, file)
      @seeder = Skep::Kafka::Testing::TopicSeeder.new(bootstrap, topic, timeout: 90)
      File.write(file, "")
      File.chmod(0o666, file)
      @file = File.open(file)
      @buffer = +""
      @handled, @fed, @highest = {}, [0] * PARTITIONS, [-1] * PARTITIONS
      @low = [0] * PARTITIONS
      @tries, @last_by = Hash.new(0), {}
    end

    def create_topic = @seeder.create_topic(PARTITIONS)

    def pump
      read
      items = (0...PARTITIONS).flat_map { |partition| wanted(partition) }
      @seeder.publish(items) if items.any?
    end

    def handled?(id) = @handled.key?(id)
    def tries(id) = @tries[id]
    def last_by(pid) = @last_by.fetch(pid, 0.0)
    def ahead(partition, count) = ((@highest[partition] + count) * PARTITIONS) + partition
    def id(partition, offset) = (offset * PARTITIONS) + partition

    # Where each partition stands: no message behind it was handled.
    def highest = @highest.dup

    def gaps(limit, except: [])
      except = except.to_h { |one| [one, true] }
      (0...PARTITIONS).flat_map do |partition|
        ids = (@low[partition]..limit[partition]).map { |offset| id(partition, offset) }
        missing = ids.reject { |one| handled?(one) }
        @low[partition] = (missing.first || ids.last || id(partition, @low[partition])) / PARTITIONS
        missing.reject { |one| except[one] }
      end
    end

    def close
      @file.close
      @seeder.close
    end

    private

    def wanted(partition)
      first, last = @fed[partition], @highest[partition] + WAITING
      return [] if last - first < CHUNK

      @fed[partition] = last + 1
      (first..last).map do |offset|
        ["#{partition}-#{offset % KEYS}", id(partition, offset).to_s, partition]
      end
    end

    def read
      @buffer << @file.read
      while (line = @buffer.slice!(/\A.*\n/))
        case line.split
        in ["bad", id] then @tries[Integer(id)] += 1
        in [id, pid] then handled(Integer(id), Integer(pid))
        end
      end
    end

    def handled(id, pid)
      @last_at = @last_by[pid] = Skep::OS.now
      @handled[id] = true
      offset, partition = id.divmod(PARTITIONS)
      @highest[partition] = [@highest[partition], offset].max
    end
  end
end
