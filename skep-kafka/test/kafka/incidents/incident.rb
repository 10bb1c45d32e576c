# frozen_string_literal: true

module Incidents
  # An incident: what goes wrong, and what the status is to say of it.
  #
  #   Incident.new(name: "hang", kind: "no_progress", known_after: 6.0,
  #                plant: ->(stage) { … }, mend: ->(stage) { … })
  #
  # kind: of the problem; nil: there is to be none. cause: what its subject, level, text and at are
  # (===). also: kinds of what follows from it, by the docs, each with the seconds for which it may
  # outlast its end. known_after, gone_after: seconds from its begin and its end that the docs give.
  # stays: it is there until the swarm ends. flickers: it comes and goes by nature.
  # lasts: seconds from its being named to its end. swarm, source: options of the swarm and the
  # source. real: it needs a real broker.
  # plant, mend: are given the Stage, and return the time at which it begins or ends; anything that
  # isn't a Float means now.
  Incident = Struct.new(:name, :kind, :cause, :also, :known_after, :gone_after, :stays, :flickers,
                        :lasts, :swarm, :source, :real, :plant, :mend, keyword_init: true) do
    def initialize(cause: {}, also: {}, known_after: 0.0, gone_after: 0.0, lasts: 2.0, swarm: {},
                   source: {}, mend: ->(_) {}, **facts)
      super(cause:, also:, known_after:, gone_after:, lasts:, swarm:, source:, mend:, **facts)
    end
  end
end
