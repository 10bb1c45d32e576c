# frozen_string_literal: true

module Skep
  module Fork
    # One thing that a child wouldn't have, or would have broken.
    #
    #   finding.kind     # :ruby_thread or :native_thread
    #   finding.what     # "the Ruby thread \"mailer\""
    #   finding.where    # "started at app/mailer.rb:12"
    #   finding.advice   # what to do about it
    #   finding.to_s     # all in a sentence
    Finding = Struct.new(:kind, :what, :where, :advice, keyword_init: true) do
      #: (kind: Symbol, what: String, where: String, advice: String) -> void
      def initialize(**)
        super
        freeze
      end

      #: () -> String
      def to_s = "#{what}, #{where}: #{advice}"
    end
  end
end
