# frozen_string_literal: true

require "skep/swarm"

# The work room: what nodes do. A source of work is any object that answers
#
#   errors                 # => [String]: what is wrong with it, found without network, sentences
#   facts                  # => Hash of plain data: what it is, for status and logs; no secrets
#   threads                # => Integer: worker threads it uses in a node
#   run(child, handler)    # on a node's main thread: calls child.ready!, feeds the handler,
#                          # returns at child.stopping?
#
# `swarm.work(source) { |…| … }` takes it.
# `require "skep/kafka"` brings the first: Skep::Kafka::Source.
module Skep
  module Work
  end
end
