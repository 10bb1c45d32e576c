# frozen_string_literal: true

require "skep/kafka/testing"

module Incidents
  # Steady messages for each partition of a topic, from a thread, and what was handled of them.
  #
  #   load = Load.new(bootstrap, "orders", directory)
  #   load.start
  #   load.special("bad", 2, "key")    # a message that isn't like the others; => its time
  #   load.rate = 0                    # messages per second and partition; 0: none
  #   load.read                        # reads what was handled
  #   load.by(pid)                     # when this process handled a message last; nil: never
  #   load.last_in(2)                  # the same of a partition; 0.0: never
  #   load.close
  class Load
    PARTITIONS = 6
    RATE = 15 # messages per second and partition
    PERIOD = 0.1 # seconds between two of them
    KEYS = 40

    attr_writer :rate

    def initialize(bootstrap, topic, directory, rate: RATE)
      @bootstrap, @topic = bootstrap, topic
      @rate = rate
      @owed = 0.0
      @number = 0
      @path = File.join(directory, "done")
      File.write(@path, "")
      @file = File.open(@path)
      @buffer = +""
      @by, @last_in = {}, Hash.new(0.0)
      @specials = Thread::Queue.new
    end

    def start = @thread ||= Thread.new { feed until @closed }

    def special(payload, partition, key)
      written = Thread::Queue.new
      @specials << [[key, payload, partition], written]
      written.pop
    end

    def by(pid) = @by[pid]
    def last_in(partition) = @last_in[partition]

    def read
      @buffer << @file.read.to_s
      while (line = @buffer.slice!(/\A.*\n/))
        partition, _, time, _, pid = line.split
        @by[Integer(pid)] = @last_in[Integer(partition)] = Float(time)
      end
    end

    def close
      @closed = true
      @thread&.join
      @writer&.close
      @file.close
    end

    private

    def feed
      items = usual
      special, written = @specials.pop(true) unless @specials.empty?
      publish([*special && [special], *items])
      written&.push(Skep::OS.now)
      IO.select(nil, nil, nil, PERIOD)
    end

    def usual
      @owed += @rate * PERIOD
      each = @owed.floor
      @owed -= each
      Array.new(each * PARTITIONS) do |index|
        ["#{index % PARTITIONS}-#{(@number += 1) % KEYS}", "order #{@number}", index % PARTITIONS]
      end
    end

    # While no broker answers, messages wait, and some are lost: that is no matter.
    def publish(items)
      @writer ||= Skep::Kafka::Testing::TopicSeeder.new(@bootstrap, @topic, timeout: 3)
      @writer.publish(items) if items.any?
    rescue Skep::Error
      @writer&.close
      @writer = nil
    end
  end
end
