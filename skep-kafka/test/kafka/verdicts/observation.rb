# frozen_string_literal: true

module Verdicts
  # What a life has seen of a fault, and whether skep's verdict was right. No limit here depends on
  # how fast a machine is: a verdict that came late shows in the table's seconds.
  #
  #   observation.right?     # true if why_wrong is nil
  #   observation.why_wrong  # => "condemned 2 good messages: [17, 23]"
  #   observation.to_plain   # => a Hash for the report
  #
  # bad: IDs of the bad messages. condemned: IDs of those that were dead-lettered or quarantined.
  # unfit: pids of processes that were said to be ill. ill: the pid of the one that is. lost: IDs
  # that were neither handled nor condemned, though later ones of their partition were.
  # seconds: until the verdict (the last bad message condemned, the ill node ended); nil: there was
  # none. back_after: seconds from the fault's end to the first message that was handled.
  # planted_at, healed_at: as `mono` in the events. wrong_outages: what is wrong with the reports of
  # outages, in words.
  Observation = Struct.new(:fault, :options, :seed, :number, :bad, :condemned, :unfit, :ill, :lost,
                           :replaced, :seconds, :back_after, :planted_at, :healed_at, :broken,
                           :wrong_outages, keyword_init: true) do
    def right? = why_wrong.nil?
    def good_condemned = condemned - bad

    def why_wrong
      return broken if broken

      condemned_good || wrong_message || wrong_process || wrong_dependency || unfit_well ||
        lost_some || wrong_outages&.first
    end

    # Are bad messages dead-lettered, skipped or held? If not they are retried for ever.
    def condemnable? = options[:dead_letters] || fault.ends_nodes?

    def to_plain
      { kind: fault.kind, cause: fault.cause, right: right?, why: why_wrong, seed:, number:,
        options:, fault: fault.to_h, bad:, condemned:, good_condemned: good_condemned.size,
        unfit:, ill:, lost: lost.size, replaced:, seconds: seconds&.round(2),
        back_after: back_after&.round(2), planted_at:, healed_at: }
    end

    private

    def condemned_good
      ids = good_condemned
      "condemned #{ids.size} good: #{ids.first(9)}" if ids.any?
    end

    def wrong_message
      return unless fault.cause == :message

      missing = condemnable? ? bad - condemned : []
      return "not condemned: #{missing}" if missing.any?

      "condemned, although nothing says where to: #{condemned}" if !condemnable? && condemned.any?
    end

    def wrong_process
      "the ill node wasn't replaced" if fault.cause == :process && seconds.nil?
    end

    def wrong_dependency
      "nothing was handled after the end" if fault.cause == :dependency && back_after.nil?
    end

    def unfit_well
      "well processes are called ill: #{unfit - [ill]}" if (unfit - [ill]).any?
    end

    def lost_some
      "not done: #{lost.size}, #{lost.first(9)}" if lost.any?
    end
  end
end
