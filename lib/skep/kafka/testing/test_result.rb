# frozen_string_literal: true

module Skep
  module Kafka
    module Testing
      # What became of the messages of a run.
      #
      #   outcome.done           # => [Message], the handler returned, or marked them
      #   outcome.retried        # => [{ offset:, error:, attempt:, … }], each time it raised
      #   outcome.dead_letters   # => [ProducedMessage], as they would lie in the dead letter topic
      #   outcome.buried         # => [Message], the same as they were
      #   outcome.filtered       # => [Message], those that `filter:` kept from the handler
      #   outcome.left           # => [Message], what would come again
      #   outcome.committed      # => { ["orders", 0] => 42 }, where a successor would begin
      #   outcome.child          # => the FakeChild, with all it was told
      #   outcome.clean?         # is all done, at the first try?
      TestResult = Struct.new(:done, :retried, :dead_letters, :buried, :filtered, :left, :committed,
                           :child, keyword_init: true) do
        # Was all done at the first try?
        def clean? = [retried, dead_letters, left].all?(&:empty?) #: () -> bool

        def inspect #: () -> String
          counts = %i[done retried dead_letters filtered left].map do |name|
            "#{name}=#{self[name].size}"
          end
          "#<Skep::Kafka::Testing::TestResult #{counts.join(" ")}>"
        end
      end
    end
  end
end
