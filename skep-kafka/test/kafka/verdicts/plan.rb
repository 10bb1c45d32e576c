# frozen_string_literal: true

require "kafka/verdicts/fault"

module Verdicts
  # What a life is: its options and its faults. The same seed is the same plan.
  #
  #   Plan.all("all", 30, 1)   # => plans with 30 faults, each kind as often as the others
  #   plan.options             # => { nodes: 3, threads: 2, ordered_by: "key", … }
  #   plan.faults              # => Fault, one after another
  class Plan
    FAULTS = 7 # of a life at most

    attr_reader :seed, :options, :faults

    def self.all(kind, count, seed)
      kinds = kind == "all" ? KINDS : [kind]
      unknown = kinds - KINDS
      raise ArgumentError, "no kind #{kind}: all, #{KINDS.join(", ")}" if unknown.any?

      random = Random.new(seed)
      deck = kinds.shuffle(random:).cycle.first(count)
      deck.each_slice(FAULTS).with_index.map { |few, index| new(seed + index, few) }
    end

    # options: instead of drawn ones.
    def initialize(seed, kinds, **options)
      @seed = seed
      random = Random.new(seed)
      @options = draw(random).merge(options).freeze
      @faults = kinds.map { |one| Fault.random(one, random) }.freeze
    end

    private

    def draw(random)
      { nodes: 3, threads: random.rand(1..4), ordered_by: %w[partition key].sample(random:),
        dead_letters: random.rand < 0.5, max_attempts: random.rand(2..5),
        retry_for: [5, 300].sample(random:), on_poison: %w[pause skip].sample(random:),
        max_messages: [20, 100, 500].sample(random:), marks: random.rand < 0.5 }
    end
  end
end
