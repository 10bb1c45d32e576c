# frozen_string_literal: true

module HandlerFuzz
  # A rule that skep has broken.
  class Broken < StandardError; end

  # What must hold, whatever a handler does. It knows what the handler saw, did and raised, and
  # judges what skep makes of that: commits, dead letters, reports, the order of the messages.
  class Model
    # What is known of a message. settled: it may be committed; final: it must not come again.
    Fate = Struct.new(:item, :settled, :final, :errors, :batches, :outputs) do
      def failures = errors.size + batches
    end

    attr_reader :broken_rule # the first Broken: it may have been raised within a handler

    def initialize(program)
      @program = program
      @fates = program.items.to_h do |item|
        [item.place, Fate.new(item, item.skipped, false, [], 0, 0)]
      end
      @sought = {} # partitions
      @running = {}
    end

    def begin(call)
      groups = call.fates.map { |fate| @program.group(fate.item) }.uniq
      groups.each { |group| broken("two handlers have messages of #{group}") if @running[group] }
      groups.each { |group| @running[group] = call }
    end

    def end(call) = @running.delete_if { |_, other| other.equal?(call) }

    # The handler has the message now.
    def visit(call, fate)
      broken("a filtered message was handed out: #{fate.item}") if fate.item.skipped
      if fate.final && !@sought[fate.item.partition]
        broken("a message came again that was done: #{fate.item}")
      end
      earlier = @fates.each_value.find do |other|
        before?(other, fate) && !other.settled && call.visited.none? { |one| one.equal?(other) }
      end
      broken("#{fate.item} came before #{earlier.item}") if earlier
      call.visited << fate
    end

    def done(fates) = fates.each { |fate| fate.settled = fate.final = true }
    def raised(fate, error) = fate.errors << error

    # The handler wants to continue at that place. What it passes over needs not be done.
    def sought(partition, place)
      @sought[partition] = true
      offset = { beginning: 0, end: Float::INFINITY }.fetch(place, place)
      of(partition).each { |fate| fate.settled = true if fate.item.offset < offset }
    end

    def fate(message) = @fates.fetch([message.partition, message.offset])

    # done: a block that says of an offset from there on if the commit has it as done.
    def committed(partition, offset)
      of(partition).each do |fate|
        next if fate.settled
        next unless fate.item.offset < offset || (block_given? && yield(fate.item.offset))

        broken("committed, and not done: #{fate.item}")
      end
    end

    def dead_lettered(message, error, attempts)
      fate = fate(message)
      if fate.final && !@sought[message.partition]
        broken("dead-lettered after it was done: #{fate.item}")
      end
      unless fate.errors.last.equal?(error)
        broken("dead-lettered with another message's error, #{error.message}: #{fate.item}")
      end
      unless fate.failures.between?(attempts, Float::INFINITY) && attempts.positive?
        broken("#{attempts} attempts of #{fate.failures}: #{fate.item}")
      end
      broken("dead-lettered too early: #{fate.item}") unless condemned?(fate, error)
      fate.settled = fate.final = true
    end

    # What Swarm#on_error blocks get.
    def reported(error, offset, attempt)
      fate = @fates.each_value.find { |one| one.errors.any? { |own| own.equal?(error) } }
      return broken("reported, and nobody raised it: #{error.inspect}") unless fate

      broken("#{attempt} attempts of #{fate.failures}: #{fate.item}") if attempt > fate.failures
      return if error.unplaced || offset == fate.item.offset

      broken("reported at the offset #{offset}: #{fate.item}")
    end

    # Nothing more happens. A message that is paused keeps those behind it, and a seek.
    def finished
      paused = @fates.each_value.select do |fate|
        fate.errors.last.is_a?(Errors::Paused) && (!fate.final || @sought[fate.item.partition])
      end
      @fates.each_value do |fate|
        next if fate.settled || paused.any? { |one| kept_by?(one, fate) }

        broken("lost: #{fate.item}")
      end
      return unless @program.options[:transactional]

      twice = @fates.each_value.find { |one| one.outputs > 1 && !@sought[one.item.partition] }
      broken("its output was committed twice: #{twice.item}") if twice
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
      sought = @sought[fate.item.partition] && paused.item.partition == fate.item.partition
      sought || paused.equal?(fate) || before?(paused, fate)
    end

    def condemned?(fate, error)
      case error
      when Errors::Final, Errors::Dropped then true
      when Errors::Paused, Errors::Repeated then false
      else @program.dead_letters? && fate.failures >= @program.options[:max_attempts]
      end
    end
  end
end
