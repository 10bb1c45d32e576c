# frozen_string_literal: true

module Skep
  module Fork
    # One thing that a child wouldn't have, would have broken, or would pay for.
    #
    #   finding.kind       # :ruby_thread, :native_thread, :client, :socket, :datagram, :pair,
    #                      # :pipe, :kernel_object, :file_lock, :held_lock, :heap, :unseen
    #   finding.severity   # :breaks, or :note: fine unless both processes use it, or only costly
    #   finding.what       # "the Ruby thread \"mailer\""
    #   finding.where      # "started at app/mailer.rb:12"
    #   finding.advice     # what to do about it
    #   finding.to_s       # all in a sentence
    Finding = Struct.new(:kind, :severity, :what, :where, :advice, keyword_init: true) do
      #: (kind: Symbol, what: String, where: String, advice: String, ?severity: Symbol) -> void
      def initialize(severity: :breaks, **)
        super
        freeze
      end

      # Would it break in a child?
      #: () -> bool
      def breaks? = severity == :breaks

      #: () -> String
      def to_s = "#{what}, #{where}: #{advice}"
    end
  end
end
