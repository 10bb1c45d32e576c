# frozen_string_literal: true

require "kafka/incidents/history"

module Incidents
  # Whether the status told of an incident: in time, with its cause, no longer than it lasted, and
  # nothing else.
  #
  #   judgement = Judgement.new(incident, history, begun: 10.0, known: 10.5, mended: 31.2,
  #                                                     ended: 31.5)
  #   judgement.why_wrong     # => "named after 7.2 s"; nil: all was right
  #   judgement.named_after   # => 0.4, seconds since it may be known; nil: never
  #   judgement.gone_after    # => 0.2, seconds since it may be over; nil: it is still there
  #   judgement.false_ones    # => [History::Span, …]
  #
  # begun, mended: when the fault was planted, and when it was taken away. known: when it happened,
  # such as a third crash. ended: when it was over, such as the next success.
  class Judgement
    SOON = 5.0 # seconds in which it is to be named, and to be gone
    BLINK = 0.8 # seconds between two polls of a problem that lasts
    private_constant :SOON, :BLINK

    attr_reader :incident, :times

    # broken: what kept the incident from being played, in words.
    def initialize(incident, history, begun:, known:, mended:, ended:, broken: nil,
                   exit_statuses: [],
                   soon: SOON)
      @soon = soon
      @incident, @begun, @known, @ended, @broken = incident, begun, known, ended, broken
      @mended = mended
      @spans = history.spans
      @exit_statuses = exit_statuses
      @times = { begun:, known:, mended:, ended: }
    end

    def right? = why_wrong.nil?

    def why_wrong
      return @broken if @broken

      not_named || wrong_cause || gone_early || not_gone || flickers || wrong_exit_status ||
        ("false: #{false_ones.join("; ")}" if false_ones.any?)
    end

    # By its cause, or else at all.
    def named_after = seconds(cause_seen || kind_seen, @known, incident.known_after)

    def cause? = incident.kind.nil? || cause_seen ? true : false

    # Nothing is to be gone if nothing was named.
    def gone_after
      return if own.empty? || own.any? { |span| !span.over }

      seconds(own.map(&:last).max, @ended, incident.gone_after)
    end

    def false_ones = @spans.reject { |span| expected?(span) }

    private

    def own = @spans.select { |span| span.kind == incident.kind }
    def kind_seen = own.map(&:first).min
    def cause_seen = own.filter_map { |span| span.seen_as(incident.cause) }.min

    def seconds(time, from, more) = time && (time - from - more).round(1)

    def not_named
      return if incident.kind.nil?
      return "not named" unless kind_seen

      "named after #{named_after} s" if named_after > @soon
    end

    def wrong_cause
      return if cause?

      "not by its cause: #{own.flat_map { |span| [span.subject, *span.looks.keys] }.first(8)}"
    end

    # Before its end, if that doesn't come by itself.
    def gone_early
      return unless incident.kind && incident.lasts.positive?

      early = (@mended - own.map(&:last).max).round(1)
      "gone #{early} s before its end" if early > BLINK
    end

    def not_gone
      return if incident.kind.nil? || incident.stays
      return "still named" unless gone_after

      "gone after #{gone_after} s" if gone_after > @soon
    end

    def flickers
      return if incident.flickers

      seen = own.first&.last
      away = own.drop(1).map do |span|
        before, seen = seen, [seen, span.last].max
        span.first - before
      end.max.to_f
      "away for #{away.round(1)} s in between" if away > BLINK
    end

    def wrong_exit_status = @exit_statuses.find(&:itself)

    def expected?(span)
      return false if span.first < @begun
      return right_one?(span) if span.kind == incident.kind

      late = incident.also.fetch(span.kind) { return false }
      incident.stays || (span.over && span.last <= @ended + incident.gone_after + [late, @soon].max)
    end

    def right_one?(span) = incident.cause.fetch(:subject, span.subject) === span.subject
  end
end
