# frozen_string_literal: true

# What a parent may do before it forks, by name: loads what that needs, and does it.
#
#   prepare = Preparation.load("nakayoshi")   # first of all, as an application would
#   prepare.call                              # the heap is built: now prepare it
#
# Preparation::Skipped says why it can't be had here.
class Preparation
  class Skipped < StandardError
  end

  # The features to load and what to call; for two gems the fork itself is the call.
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
      features, deed = WAYS.fetch(name)
      features.each { |feature| require feature }
      deed
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
