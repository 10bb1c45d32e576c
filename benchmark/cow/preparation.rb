# frozen_string_literal: true

# Prepares a parent for its forks in one of several ways, by name.
#
#   prepare = Preparation.load("nakayoshi")   # at the start, as an application does
#   prepare.call                              # once the heap is built
#
# Raises Preparation::Skipped with the reason if it isn't available here.
class Preparation
  class Skipped < StandardError
  end

  # The features to load and the call. For two gems the fork itself is the call.
  WAYS = {
    "nothing" => [[], -> {}],
    "process_warmup" => [[], -> { Process.warmup }],
    "nakayoshi" => [["nakayoshi_fork"], -> {}],
    "skep" => [["skep/fork"], -> { Skep.warmup }],
    "skep_small" => [["skep/fork"], -> { Skep.warmup(huge_pages: false) }],
    "skep_reshare" => [["skep/reshare", "skep/fork"], -> { reshare }],
    "cow_fork" => [["skep/cow_fork"], -> {}]
  }.freeze

  class << self
    def load(name)
      features, call = WAYS.fetch(name)
      features.each { |feature| require feature }
      call
    rescue LoadError => e
      raise Skipped, "#{e.path || "a file"} isn't there"
    end

    private

    def reshare
      step = Skep.warmup(reshare: true).steps.find { |each| each.name == :reshare }
      raise Skipped, step.skipped if step.skipped
    end
  end
end
