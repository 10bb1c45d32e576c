# frozen_string_literal: true

module Skep
  # Stands for an exception of a node's that can't be marshalled, or not be loaded here. It has
  # that one's message and backtrace.
  #
  #   rescue Skep::NodeError => e
  #     e.error_class    # => "Payment::Refused"
  class NodeError < Error
    attr_reader :error_class #: String, its name in the node

    #: (error_class: String, message: String, because: String) -> void
    def initialize(error_class:, message:, because:)
      @error_class = error_class
      super("#{error_class}: #{message} (it can't leave its node as it is: #{because})")
    end
  end
end
