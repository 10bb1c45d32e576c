# frozen_string_literal: true

# Compares the messages of a topic, as another client reads them, with the records that handlers
# wrote. This program uses no code of skep.
#
#   kcat -C -b HOST:PORT -t TOPIC -e -q -f '%p %o %s\n' | ruby record_checker.rb DIRECTORY
#
# stdin has one line for each message: partition, offset, payload. The directory's files done.* have
# one record of 32 bytes for each handled message: nanoseconds, partition, pid, offset, id. A kill
# never leaves half a record. The program prints one line of JSON:
#
# messages   number of messages in the topic
# lost       messages without a record
# duplicates records beyond the first one of each message
# farthest   the largest distance by which a duplicate went back in its partition
# disorder   messages whose first record is out of order within the partition
# wrong      records of a message that the topic doesn't have at that place
# stale      keys whose last record, from any process, isn't of their newest message (an error only
#            once the group has committed everything: until then messages are repeated)
require "json"

RECORD = "Q>L>L>Q>Q>"
BYTES = 32

class RecordChecker
  def initialize(topic)
    @topic = Hash.new { |all, partition| all[partition] = {} }
    @keys, @newest, @last = {}, {}, {}
    topic.each_line do |line|
      partition, offset, payload = line.split(" ", 3)
      message = JSON.parse(payload)
      @topic[partition.to_i][offset.to_i] = message["id"]
      @keys[message["id"]] = message["key"]
      @newest[message["key"]] = message["id"]
    end
    @next = @topic.transform_values { 0 }
    @seen = @topic.transform_values { {} }
    @duplicates = @disorder = @wrong = @farthest = 0
  end

  # Checks the records of all processes in order of time.
  def check(records)
    records.sort.each { |record| check_record(*record.unpack(RECORD).values_at(1, 3, 4)) }
    self
  end

  def result
    messages = @topic.sum { |_, ids| ids.size }
    { messages:, lost: messages - @seen.sum { |_, offsets| offsets.size },
      duplicates: @duplicates, farthest: @farthest, disorder: @disorder, wrong: @wrong,
      stale: @newest.count { |key, id| @last[key] != id } }
  end

  private

  def check_record(partition, offset, id)
    return @wrong += 1 unless @topic.key?(partition) && @topic[partition][offset] == id

    @last[@keys[id]] = id
    return count_duplicate(partition, offset) if @seen[partition][offset]

    @seen[partition][offset] = true
    @disorder += 1 if offset != @next[partition]
    @next[partition] = offset + 1 if offset >= @next[partition]
  end

  def count_duplicate(partition, offset)
    @duplicates += 1
    @farthest = [@farthest, @next[partition] - offset].max
  end
end

records = Dir.glob("#{ARGV.fetch(0)}/done.*").flat_map do |path|
  File.binread(path).scan(/.{#{BYTES}}/mn)
end
puts JSON.generate(RecordChecker.new($stdin).check(records).result)
