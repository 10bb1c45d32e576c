# frozen_string_literal: true

module HandlerFuzz
  # A rule that skep has broken.
  class Broken < StandardError; end

  # What must hold, whatever a handler does. It knows what the handler saw, did and raised, and
  # judges what skep makes of that: commits, dead letters, reports, the order of the messages.
  class Model
    # What is known of a message. settled: it may be committed; final: it must not come again; dead:
    # it is a dead letter; outputs: how often its output was committed.
    # tries: that have failed in a row here.
    Fate = Struct.new(:item, :settled, :final, :dead, :errors, :outputs, :tries) do
      def failures = errors.size
    end

    attr_reader :broken_rule # the first Broken: it may have been raised within a handler

    def initialize(program)
      @program = program
      @fates = program.items.to_h do |item|
        [item.place, Fate.new(item, item.skipped, false, false, [], 0, 0)]
      end
      @unplaced = {}.compare_by_identity # errors of which skep doesn't know the message
      @seeking, @sought = {}, {} # partitions
      @running = {}
    end

    def fate(message) = @fates.fetch([message.partition, message.offset])

    def begin(handler)
      groups = handler.fates.map { |fate| @program.group(fate.item) }.uniq
      groups.each { |group| broken("two handlers have messages of #{group}") if @running[group] }
      groups.each { |group| @running[group] = handler }
    end

    def end(handler) = @running.delete_if { |_, other| other.equal?(handler) }

    # The handler has the message now.
    def visit(handler, fate)
      broken("a filtered message was handed out: #{fate.item}") if fate.item.skipped
      if fate.final && handler.marked.none? { |one| one.equal?(fate) }
        broken("a message came again that was done: #{fate.item}")
      end
      earlier = @fates.each_value.find do |other|
        before?(other, fate) && !other.settled && handler.visited.none? { |one| one.equal?(other) }
      end
      broken("#{fate.item} came before #{earlier.item}") if earlier
      handler.visited << fate
    end

    def done(fates) = fates.each { |fate| fate.settled = fate.final = true }

    # An error counts for these messages: more than one if it doesn't tell which has failed.
    def raised(fates, error, unplaced: false)
      @unplaced[error] = true if unplaced
      fates.each do |fate|
        count_try(fate, error, unplaced:)
        fate.errors << error
      end
    end

    # The handler wants to continue elsewhere, and later it does. What it passes over needn't be
    # done, and what lies ahead comes again.
    def seeking(partition) = @seeking[partition] = true
    def drop_seek(partition) = @seeking.delete(partition)

    def sought(partition, offset)
      drop_seek(partition)
      @sought[partition] = true
      of(partition).each do |fate|
        passed = fate.item.offset < offset
        fate.settled = passed || fate.item.skipped
        fate.final = fate.dead = false unless passed
        fate.tries = 0
      end
    end

    # The handlers' process has ended.
    def crashed = @running.clear

    # Another owner begins: what was asked of this one is forgotten.
    def handed_over(partition)
      drop_seek(partition)
      of(partition).each { |fate| fate.tries = 0 }
    end

    # The process was killed, and its successor continues where it was. The block says of a
    # partition and offset if it is done for that one.
    def continued(partitions)
      partitions.each do |partition|
        of(partition).each do |fate|
          next if !fate.final || yield(["t", partition], fate.item.offset)

          broken("done before the kill, and not after it: #{fate.item}")
        end
      end
    end

    # Others have the partitions. The block says of a partition and offset if it is done for them.
    def restarted(partitions)
      partitions.each do |partition|
        handed_over(partition)
        of(partition).each { |fate| fate.final = yield(["t", partition], fate.item.offset) }
      end
    end

    # done: a block that says of an offset from there on if the commit has it as done.
    def committed(partition, offset)
      of(partition).each do |fate|
        next if fate.settled
        next unless fate.item.offset < offset || (block_given? && yield(fate.item.offset))

        broken("committed, and not done: #{fate.item}")
      end
    end

    # Output of a message is committed with that offset.
    def written(payload, offset)
      fate = @fates.fetch(payload.split("/").map(&:to_i))
      fate.outputs += 1
      broken("committed without its output's message: #{fate.item}") if fate.item.offset >= offset
      return if fate.outputs == 1 || @sought[fate.item.partition]

      broken("its output was committed twice: #{fate.item}")
    end

    # lost: the partition had another owner by then.
    def dead_lettered(message, error, attempts, lost:)
      fate = fate(message)
      broken("dead-lettered after it was done: #{fate.item}") if fate.final && !lost
      unless fate.errors.last.equal?(error)
        broken("dead-lettered with another message's error, #{error.message}: #{fate.item}")
      end
      unless attempts.between?(1, fate.failures)
        broken("#{attempts} attempts of #{fate.failures}: #{fate.item}")
      end
      broken("dead-lettered too early: #{fate.item}") unless condemned?(fate, error)
      fate.settled = fate.dead = true
      fate.final = true unless lost
    end

    # What Swarm#on_error blocks get.
    def reported(error, offset, attempt)
      fates = @fates.each_value.select { |one| one.errors.any? { |own| own.equal?(error) } }
      return broken("reported, and nobody raised it: #{error.inspect}") if fates.empty?

      fate = fates.find { |one| one.item.offset == offset }
      if attempt > fates.map(&:failures).max
        broken("#{attempt} attempts of #{fates.map(&:failures).max}: #{fates.first.item}")
      end
      return if fate || @unplaced[error]

      broken("reported at the offset #{offset}: #{fates.first.item}")
    end

    # Nothing more happens. A message that is paused keeps those behind it.
    def finished
      @seeking.each_key { |partition| broken("the partition #{partition} never seeks") }
      paused = @fates.each_value.select do |fate|
        fate.errors.last.is_a?(Errors::Paused) && !fate.final
      end
      @fates.each_value do |fate|
        next if fate.settled || paused.any? { |one| kept_by?(one, fate) }

        broken("lost: #{fate.item}")
      end
    end

    private

    def broken(text)
      @broken_rule ||= Broken.new(text)
      raise @broken_rule
    end

    def of(partition) = @fates.each_value.select { |fate| fate.item.partition == partition }

    # Must the first message be done before the second one?
    def before?(one, other)
      @program.group(one.item) == @program.group(other.item) && one.item.offset < other.item.offset
    end

    def kept_by?(paused, fate)
      paused.equal?(fate) || before?(paused, fate) || before_by_key?(paused, fate)
    end

    # The key of a message whose callable raises is known again once it doesn't, after a crash.
    def before_by_key?(one, other)
      same = %i[partition key].all? { |field| one.item[field] == other.item[field] }
      same && one.item.offset < other.item.offset
    end

    # In a row are failures with errors of the same limit.
    def count_try(fate, error, unplaced:)
      most = most_tries(error)
      return fate.tries = 0 if unplaced || most.nil?

      same = fate.errors.any? && most_tries(fate.errors.last) == most
      fate.tries = same ? fate.tries + 1 : 1
      broken("tried too often: #{fate.item}") if fate.tries > most
    end

    # How often a message may fail in a row with such an error; nil: for ever. A message is tried
    # in its batch first, then alone, and again if its dead letter couldn't be written.
    def most_tries(error)
      return unless @program.dead_letters? && !@program.failures[:dead_letter].any?

      case error
      when Errors::Final, Errors::Dropped then 2
      when Errors::Paused, Errors::Repeated, Skep::Kafka::OutputFailed then nil
      else @program.options[:max_attempts] + 4
      end
    end

    def condemned?(fate, error)
      case error
      when Errors::Final, Errors::Dropped then true
      when Errors::Paused, Errors::Repeated then false
      else
        passing = error.is_a?(Skep::Kafka::OutputFailed) && error.passing?
        !passing && @program.dead_letters? && fate.failures >= @program.options[:max_attempts]
      end
    end
  end
end
