# frozen_string_literal: true

require "English"
require "tmpdir"
require "support/patch"

module HandlerFuzz
  # Bugs planted in what becomes of a batch, each of which the programs must find. A commit that
  # changes such a line must adapt the mutation here.
  module Mutations
    SEEDS = 4_000
    # as: what the report must say; nil: anything.
    Bug = Struct.new(:name, :patches, :as)

    def self.patch(file, from, to) = Patch.new("skep/kafka/#{file}.rb", from, to)
    private_class_method :patch

    MARKED_IS_CHARGED = patch("processing/attempt", "def raised_at_marked? = !marked.nil?",
                              "def raised_at_marked? = false && !marked.nil?")
    private_constant :MARKED_IS_CHARGED

    ALL = [
      # Bugs that were in a release.
      Bug.new("after a mark, a message that no handler saw gets another one's error",
              [MARKED_IS_CHARGED], /another message's error/),
      Bug.new("after a mark, attempts are charged to the messages behind it",
              [MARKED_IS_CHARGED], /attempts of/),
      Bug.new("after a mark, the wrong message is paused", [MARKED_IS_CHARGED], /lost:/),

      # RetryPolicy.
      Bug.new("a message has one attempt fewer",
              [patch("failure/retry_policy", "tries(attempt, history) < options.max_attempts",
                     "tries(attempt, history) < options.max_attempts - 1")]),
      Bug.new("a batch of several messages is a dead letter",
              [patch("failure/retry_policy", "return :one_by_one if attempt.several?", "")]),
      Bug.new("a message is dead-lettered although it isn't known which one failed",
              [patch("failure/retry_policy",
                     "dead_letter = attempt.one_message? ? :dead_letter : :one_by_one",
                     "dead_letter = :dead_letter")]),
      Bug.new("a message is dead-lettered for the cluster's failure",
              [patch("failure/retry_policy", "return :retry if passing?(attempt.error)", "")]),
      Bug.new("on_error's :retry counts as nothing",
              [patch("failure/retry_policy", "when :retry then return :retry", "")]),
      Bug.new("on_error's :pause is a dead letter",
              [patch("failure/retry_policy",
                     "when :pause then return attempt.one_message? ? :hold : :one_by_one",
                     "when :pause then return dead_letter")]),
      Bug.new("NonRetryable is retried",
              [patch("failure/retry_policy",
                     "return dead_letter, :class if attempt.error.is_a?(NonRetryable)", "")]),
      Bug.new("a batch that fails at random is retried as a whole for ever",
              [patch("failure/retry_policy", "action == :retry && split?", "false && split?")],
              /never ends/),
      Bug.new("a message has no last attempt",
              [patch("failure/failure_cause", "@history.against >= [", "false && ["),
               patch("failure/retry_policy",
                     "over = now - history.since >= options.patience", "over = false")]),

      # The history of a batch.
      Bug.new("a failure counts twice",
              [patch("failure/failure_count", "@count += 1", "@count += 2")]),
      Bug.new("failures of other messages count for the last one",
              [patch("failure/failure_count",
                     "@number = offset == @offset ? @number + 1 : 1", "@number += 1")]),
      Bug.new("a message tried alone has its batch's failures",
              [patch("failure/failure_count", "count: number, offset:", "count:, offset:")]),
      Bug.new("what is done beyond a batch keeps its failures",
              [patch("processing/work_item", "@slices.shift\nforget_failures", "@slices.shift")]),
      Bug.new("marked messages are tried again",
              [patch("processing/work_item", "return 0 unless @marked", "return 0")]),
      Bug.new("the message isn't known that failed",
              [patch("processing/attempt", "@at if error\n", "nil\n")]),
      Bug.new("a dead letter that couldn't be written is done",
              [patch("failure/failure_handler",
                     "to: @options.dead_letter_topic)\nrescue OutputFailed => e\nstays(item, e)",
                     "to: @options.dead_letter_topic)\n" \
                     "rescue OutputFailed\ndone(item, :skipped)")]),

      # Positions.
      Bug.new("a mark is forgotten", [patch("processing/scheduler",
                                            "store(item, offset).tap { item.mark(offset) }",
                                            "store(item, offset)")]),
      Bug.new("an offset of a lost partition is stored",
              [patch("processing/scheduler",
                     "partition.done(item, offset)\n" \
                     "return :partition_lost if partition.revocation == :finished",
                     "partition.done(item, offset)")]),
      Bug.new("by key, the position is behind unfinished messages",
              [patch("processing/done_offsets",
                     "@moved ? lowest || @next : @start", "@moved ? @next : @start")]),
      Bug.new("by key, a commit says that unfinished messages are done",
              [patch("processing/done_offsets",
                     "places.each { |place| digits.setbyte(place, ZERO) if place",
                     "places.each { |place| nil if place")]),
      Bug.new("by key, a mark is one for the whole batch",
              [patch("processing/done_offsets",
                     "...slice.count_to(offset)]", "...slice.size]")]),
      # What a killed process leaves to its successor.
      Bug.new("a kill repeats what was done",
              [patch("processing/assigned_partition", "return unless @progress\n", "return\n")],
              /done before the kill/),
      Bug.new("a killed process says that a message more is done",
              [patch("processing/assigned_partition", "@progress.done(known, epoch:",
                     "@progress.done(known + 1, epoch:")]),
      Bug.new("by key, a killed process doesn't say what is done after its position",
              [patch("processing/progress_row",
                     "note(offsets, position || 0, highest) if offsets&.any?", "")],
              /done before the kill/),
      Bug.new("by key, what was done before the process began is lost at a second kill",
              [patch("consumer/member_progress",
                     "done: metadata ? metadata.done_from(offset) : \"\"", "done: \"\"")],
              /done before the kill/),
      Bug.new("a killed process' successor begins at its position, without what is done beyond",
              [patch("consumer/member_progress", "(row.position, done: row.done",
                     "(row.position, done: \"\"")], /done before the kill/),

      Bug.new("what a commit says of the messages beyond it is ignored",
              [patch("processing/done_offsets",
                     "messages.reject { |message| former.done?(message.offset) }", "messages")]),
      Bug.new("what a commit says is one message off",
              [patch("processing/commit_metadata",
                     'offset >= @offset && @done[offset - @offset] == "1"',
                     'offset > @offset && @done[offset - @offset - 1] == "1"')]),
      Bug.new("a batch is done before its output is delivered",
              [patch("processing/completion",
                     "delivered = @outputs.end_batch(item.partition, item.last_offset)\n" \
                     "return report_undone(slice) unless delivered\n\n" \
                     "@database_offsets&.advance(item)",
                     "@scheduler.mark(item, item.last_offset)\n" \
                     "delivered = @outputs.end_batch(item.partition, item.last_offset)\n" \
                     "return report_undone(slice) unless delivered\n\n" \
                     "@database_offsets&.advance(item)")]),
      Bug.new("a mark counts for messages that weren't yielded",
              [patch("processing/attempt", "yielded = @ended_at ? [offset, last_done].min : offset",
                     "yielded = offset")]),
      Bug.new("a batch whose loop ended early is done as a whole",
              [patch("processing/worker", "elsif attempt.ended_at", "elsif false")]),
      Bug.new("a transaction has output of messages that it doesn't commit",
              [patch("processing/attempt", "@one_transaction && seen_beyond_end? ?", "false ?")]),

      # Seeks by key.
      Bug.new("a seek waits for a message that is paused",
              [patch("processing/assigned_partition",
                     "if item.held?\npass_over(item)\nreturn false\nend\n", "")],
              /never seeks/),
      Bug.new("a seek forgets a pause that others wait for",
              [patch("processing/assigned_partition", "item.done? || item.offsets.any?",
                     "item.offsets.any?")], /never seeks/),

      # Order and assignment.
      Bug.new("by key, messages don't wait for the one in progress",
              [patch("processing/key_order", "return @busy[key] << message if @busy.key?(key)",
                     "")]),
      Bug.new("by key, messages that waited are lost",
              [patch("processing/key_order", "@waited[key] = waiting\n@count += waiting.size",
                     "")]),
      Bug.new("by key, messages are taken in the wrong order",
              [patch("processing/key_order", "taken.keys.sort_by(&:offset)",
                     "taken.keys.sort_by { |one| -one.offset }")]),
      Bug.new("an assignment doesn't wait for the work of an earlier one",
              [patch("processing/assigned_partition", "return false if former_in_flight", "")]),
      Bug.new("a handler isn't told of a revocation",
              [patch("processing/assigned_partition", "running.each(&:end_early)", ""),
               patch("processing/assigned_partition",
                     "running.each { |attempt| attempt.end_early(at_once: true) }", "")]),
      Bug.new("a partition is in the queue twice",
              [patch("processing/assigned_partition",
                     "&& (state == :idle || state == :backoff) &&", "&&")], /that is/),
      Bug.new("what waits for a retry is tried at once by another worker",
              [patch("processing/assigned_partition",
                     "return :ready unless part.done?\n@order.release(part)\nnil",
                     "@order.release(part)\n:ready unless part.done?")]),
      Bug.new("a filter is asked in vain",
              [patch("processing/worker", "return unless topic.filter", "return")]),

      # Offsets in a database.
      Bug.new("a filter's error counts for a message that the database has as done",
              [patch("processing/worker", "if @database_offsets && !attempt.begun?", "if false")],
              /dead-lettered after it was done/),
      Bug.new("a batch gets messages that the database has as done",
              [patch("database_offsets",
                     "report_behind(item)\nleave_out_done(attempt, position)",
                     "report_behind(item)")]),
      Bug.new("the database's offset isn't moved",
              [patch("database_offsets",
                     "advance_row(partition, done) if done && done > position", "")])
    ].freeze

    class << self
      # names: parts of the bugs' names; none runs all.
      def run(names)
        chosen = ALL.select { |bug| names.empty? || names.any? { |part| bug.name.include?(part) } }
        missed = chosen.reject { |bug| found?(bug) }
        puts "#{chosen.size - missed.size} of #{chosen.size} mutations found"
        missed.empty? && chosen.any?
      end

      private

      def found?(bug)
        seed, seconds, what = hunt(bug)
        result = seed ? "seed #{seed.rjust(4)}, #{seconds} s: #{what[0, 70]}" : "NOT FOUND"
        puts format("%-68s %s", bug.name, result)
        $stdout.flush
        !seed.nil?
      end

      # Runs the seeds in a separate Ruby that loads the changed lib.
      def hunt(bug)
        Dir.mktmpdir("skep-mutation") do |folder|
          bug.patches.each { |patch| patch.plant(folder) }
          program = ["skep-kafka/test/kafka/fuzz/command.rb", "hunt", SEEDS.to_s, bug.as.to_s]
          folders = ["-I#{folder}", "-r./test/load_path"]
          text = IO.popen([RbConfig.ruby, *folders, *program], &:read)
          raise "the mutated program fails: #{bug.name}" unless $CHILD_STATUS.success?

          text.lines.last&.chomp&.split(" ", 3)
        end
      end
    end
  end
end
