# frozen_string_literal: true

# The verdict on a run, by a program that knows nothing of skep: what is in the topic, as another
# client read it, beside what the handlers wrote.
#
#   kcat -C -b HOST:PORT -t TOPIC -e -q -f '%p %o %s\n' | ruby judge.rb DIRECTORY
#
# On stdin a line a message: partition, offset, payload. In the directory's files done.* a record of
# 32 bytes a message handled, of which none can be torn by a kill: nanoseconds, partition, pid,
# offset, id. Prints one line of JSON:
#
# messages   in the topic
# lost       of those nobody handled
# duplicates records beyond the first of a message
# farthest   how far back in its partition the farthest of those was
# disorder   messages whose first record came before that of one in front of it
# wrong      records that name a message which the topic doesn't have there
# stale      keys whose last record, whichever process wrote it, isn't of their newest message (a
#            fault only once the group has committed all: until then messages come again)
require "json"

RECORD = "Q>L>L>Q>Q>"
BYTES = 32

class Judge
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

  # Records in the order of their time, whichever process wrote them.
  def hear(records)
    records.sort.each { |record| weigh(*record.unpack(RECORD).values_at(1, 3, 4)) }
    self
  end

  def verdict
    messages = @topic.sum { |_, ids| ids.size }
    { messages:, lost: messages - @seen.sum { |_, offsets| offsets.size },
      duplicates: @duplicates, farthest: @farthest, disorder: @disorder, wrong: @wrong,
      stale: @newest.count { |key, id| @last[key] != id } }
  end

  private

  def weigh(partition, offset, id)
    return @wrong += 1 unless @topic.key?(partition) && @topic[partition][offset] == id
    @last[@keys[id]] = id
    return again(partition, offset) if @seen[partition][offset]

    @seen[partition][offset] = true
    @disorder += 1 if offset != @next[partition]
    @next[partition] = offset + 1 if offset >= @next[partition]
  end

  def again(partition, offset)
    @duplicates += 1
    @farthest = [@farthest, @next[partition] - offset].max
  end
end

records = Dir.glob("#{ARGV.fetch(0)}/done.*").flat_map do |path|
  File.binread(path).scan(/.{#{BYTES}}/mn)
end
puts JSON.generate(Judge.new($stdin).hear(records).verdict)
