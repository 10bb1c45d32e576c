# frozen_string_literal: true

module Skep
  module Fork
    # One thing that a forked child would lack, or would share to its harm.
    #
    #   finding.kind       # :ruby_thread, :native_thread, :client, :socket, :datagram, :pair,
    #                      # :unseen; of `skep doctor` also :kernel_object
    #   finding.severity   # :breaks; or :note: fine unless both processes use it
    #   finding.what       # "the Ruby thread \"mailer\""
    #   finding.where      # "started at app/mailer.rb:12"
    #   finding.advice     # what to do about it
    #   finding.to_s       # all in a sentence
    Finding = Struct.new(:kind, :severity, :what, :where, :advice, keyword_init: true) do
      def initialize(severity: :breaks, **)
        super
        freeze
      end

      # Returns true if it would break in a child.
      def breaks? = severity == :breaks

      def to_s = "#{what}, #{where}: #{advice}"
    end
  end
end
