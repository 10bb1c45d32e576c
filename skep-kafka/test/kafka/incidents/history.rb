# frozen_string_literal: true

module Incidents
  # What the status of a swarm has named: problems, each with the times at which it was seen first
  # and last. One that is gone and comes back is another.
  #
  #   history = History.new
  #   history.add(12.2, status["problems"])
  #   history.spans   # => [Span, …] in the order of their begin
  class History
    # looks: the distinct looks of the problem (level, text, at), each with the time of its first
    # sight. over: seen at a poll, and not at the next.
    Span = Struct.new(:kind, :subject, :first, :last, :looks, :over, keyword_init: true) do
      def seconds = last - first
      def level = looks.keys.last.first
      def to_s = "#{kind} of #{subject} (#{looks.keys.last[1]}) for #{seconds.round(1)} s"

      # Returns the time at which it first looked so; nil: it never did. cause: what to compare
      # with subject, level, text and at, by ===.
      def seen_as(cause)
        return unless cause.fetch(:subject, subject) === subject

        looks.find do |(level, text, at), _|
          { level:, text:, at: }.all? { |name, value| cause.fetch(name, value) === value }
        end&.last
      end
    end

    attr_reader :spans

    def initialize
      @spans = []
      @open = {}
    end

    def add(time, problems)
      now = problems.to_h { |one| [one.values_at("kind", "subject"), one] }
      (@open.keys - now.keys).each { |key| @open.delete(key).over = true }
      now.each { |key, problem| (@open[key] ||= begun(key, time)).then { |it|
  see(it, time, problem)
}
}
    end

    private

    def begun(key, time)
      Span.new(kind: key.first, subject: key.last, first: time, looks: {}, over: false)
          .tap { |span| @spans << span }
    end

    def see(span, time, problem)
      span.last = time
      span.looks[problem.values_at("level", "text", "at")] ||= time
    end
  end
end
