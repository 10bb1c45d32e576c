# frozen_string_literal: true

require "skep/kafka/testing"

module HandlerFuzz
  # The classes of the errors that programs raise, by what is to become of their messages.
  module Errors
    Counted = Class.new(StandardError)
    Script = Class.new(ScriptError)
    Odd = Class.new(Exception) # rubocop:disable Lint/InheritException -- as some libraries do
    Stack = Class.new(SystemStackError)
    Final = Class.new(StandardError) { include Skep::Kafka::NonRetryable }
    Dropped = Class.new(StandardError)
    Paused = Class.new(StandardError)
    Repeated = Class.new(StandardError)
    POLICY = { Dropped => :dead_letter, Paused => :pause, Repeated => :retry }.freeze
    # Of a source without a dead letter topic.
    PAUSING = POLICY.reject { |_, verdict| verdict == :dead_letter }.freeze

    def self.of(kind, fate) = const_get(kind).new("#{kind} at #{fate.item.place.join("/")}")
  end

  # A message, and what happens each time that it is visited: `script` in the handler, `filter`,
  # `reader` and `key_errors` before that, `ending` after the loop over a batch whose last message
  # it is. What isn't in a script succeeds.
  Item = Struct.new(:partition, :offset, :key, :mode, :skipped, :script, :ending, :filter, :reader,
                    :key_errors, keyword_init: true) do
    def place = [partition, offset]

    def to_s
      facts = to_h.reject { |_, value| value.nil? || value == [] || value == false }
      facts.map { |name, value| "#{name}: #{value.inspect}" }.join(", ")
    end
  end

  # A random source, its messages and what its handler does with them: all of it data, so that a
  # program that breaks a rule can be printed and reduced.
  class Program
    # How the handler takes the messages of a batch that begins with a message of that mode.
    MODES = %i[each each each nested looked_before whole external].freeze
    KINDS = %i[Counted Counted Counted Script Odd Stack Final Dropped Paused Repeated].freeze
    private_constant :MODES, :KINDS

    # faults: [step, name, partition …], what happens to the node at that step. failures: of the
    # output and of dead letters, in turn. noise: so many visits from one that raises, whatever its
    # script says, to the next one, or one more; nil: none raises.
    attr_reader :seed, :options, :items, :faults, :failures, :noise

    def self.random(seed)
      random = Random.new(seed)
      writer = Writer.new(random)
      new(seed, writer.options, writer.items, faults: writer.faults, failures: writer.failures,
                                              noise: writer.noise)
    end

    def initialize(seed, options, items, faults:, failures:, noise:)
      @seed, @options, @items, @faults, @failures = seed, options, items, faults, failures
      @noise = noise
    end

    def dead_letters? = !options[:max_attempts].nil?
    def by_partition? = options[:ordered_by] == :partition
    def by_key? = !by_partition?
    def transactional? = options[:output] == :transactional
    def progress? = !transactional? && !database? # has it a page of its progress?
    def database? = options[:output] == :database && Table.available?
    def output? = %i[plain transactional].include?(options[:output])
    def partitions = items.map(&:partition).uniq

    # The messages that must be in order: of a partition, or of a key of it. A message without a
    # key, or for which the callable raises, waits for no other.
    def group(item)
      return item.partition if by_partition?

      alone = item.key.nil? || (options[:ordered_by] == :callable && item.key_errors.to_a.any?)
      alone ? item.place : [item.partition, item.key]
    end

    def to_s
      more = { faults:, failures:, noise: [*noise] }.reject { |_, value| value.empty? }
      ["#{options} #{more}", *items.map { |item| "  #{item}" }].join("\n")
    end

    # Smaller programs, the smallest first.
    def reductions
      [*without_items, *without_faults, *with_plain_options, *with_shorter_scripts,
       *with_plain_items]
    end

    private

    def with(items = @items, options: @options, faults: @faults, failures: @failures,
             noise: @noise)
      Program.new(seed, options, items, faults:, failures:, noise:)
    end

    def without_items
      return [] if items.size == 1

      halves = items.each_slice((items.size + 1) / 2).map { |some| with(some) }
      halves + items.map { |item| with(items - [item]) }
    end

    def without_faults
      failures = @failures.filter_map do |name, list|
        with(failures: { **@failures, name => list[1..] }) if list.any?
      end
      quiet = noise ? [with(noise: nil)] : []
      quiet + faults.map { |fault| with(faults: faults - [fault]) } + failures
    end

    def with_plain_options
      plain = { threads: 1, output: nil, max_messages: 8, ordered_by: :partition }
      plain.filter_map do |name, value|
        with(options: { **options, name => value }) unless options[name] == value
      end
    end

    def with_shorter_scripts
      replaced(%i[script ending filter reader key_errors]) do |list|
        list.each_index.map { |at| list[0...at] + list[(at + 1)..] }
      end
    end

    def with_plain_items
      replaced(%i[mode key skipped]) do |value|
        [nil, false, :each].include?(value) ? [] : [nil]
      end
    end

    def replaced(fields)
      items.flat_map.with_index do |item, at|
        fields.flat_map do |field|
          yield(item[field]).map do |value|
            with(items.dup.tap { |all| all[at] = item.dup.tap { |one| one[field] = value } })
          end
        end
      end
    end

    # Writes random messages.
    class Writer
      def initialize(random)
        @random = random
        @partitions = random.rand(1..2)
      end

      def options
        ordered_by = %i[partition partition key callable].sample(random: @random)
        output = [nil, nil, nil, :plain, :transactional, :database].sample(random: @random)
        output = nil if ordered_by != :partition && output != :plain
        { ordered_by:, output:, threads: [1, 1, 2, 3, 4].sample(random: @random),
          max_messages: [1, 2, 3, 8].sample(random: @random),
          max_attempts: (@random.rand(1..4) if @random.rand < 0.75) }
      end

      def faults
        return [] if @random.rand < 0.5

        Array.new(@random.rand(1..4)) { fault }.sort_by(&:first)
      end

      def failures
        { output: failures_of(0.3), dead_letter: failures_of(0.1) }
      end

      def noise = (@random.rand(2..4) if @random.rand < 0.1)

      def items
        count = @random.rand(1..10)
        offsets = Hash.new(0)
        Array.new(count) do
          partition = @random.rand(@partitions)
          offset = offsets[partition]
          offsets[partition] += @random.rand < 0.1 ? 3 : 1
          item(partition, offset, count)
        end
      end

      private

      def item(partition, offset, count)
        Item.new(partition:, offset:, key: [nil, "a", "b", "c"].sample(random: @random),
                 mode: MODES.sample(random: @random), skipped: @random.rand < 0.1,
                 script: script(count), ending: ending(count), filter: before(0.04),
                 reader: before(0.06), key_errors: before(0.06))
      end

      # Most messages succeed at once; some fail for ever, as far as attempts go.
      def script(count)
        case @random.rand
        when 0...0.5 then Array.new(@random.rand(0..1)) { step(count) }
        when 0.5...0.9 then Array.new(@random.rand(1..4)) { step(count) }
        else [step(count)] * 12
        end
      end

      def step(count)
        case @random.rand
        when 0...0.18 then [:mark]
        when 0.18...0.25 then [:mark_any, @random.rand(count)]
        when 0.25...0.5 then [:raise, kind]
        when 0.5...0.67 then [:mark_raise, kind]
        when 0.67...0.7 then [:mark_all_raise, kind]
        when 0.7...0.76 then [:mark_first_raise, kind]
        when 0.76...0.8 then [%i[pause mark_pause].sample(random: @random)]
        when 0.8...0.82 then [:pause_raise, kind]
        when 0.82...0.86 then [:seek, place(count)]
        when 0.86...0.91 then [:revoke]
        when 0.91...0.92 then [:break]
        when 0.92...0.93 then [:exit]
        else [:switch]
        end
      end

      def place(count)
        [:beginning, :end, @random.rand(count), @random.rand(count).to_f].sample(random: @random)
      end

      def ending(count)
        return [] if @random.rand < 0.85

        [[[:mark, @random.rand(count)], [:raise, kind], [:pause]].sample(random: @random)]
      end

      def fault
        name, what = [[:revoke, @random.rand(@partitions)], [:lose, @random.rand(@partitions)],
                      [:commit, %i[skep librdkafka].sample(random: @random)],
                      [:crash]].sample(random: @random)
        [@random.rand(20), name, what]
      end

      def failures_of(likely)
        return [] if @random.rand >= likely

        Array.new(@random.rand(1..4)) { [nil, :passing, :refused].sample(random: @random) }
      end

      def kind = KINDS.sample(random: @random)

      def before(likely)
        @random.rand < likely ? [kind] * [1, 1, 2, 12].sample(random: @random) : []
      end
    end
    private_constant :Writer
  end
end
