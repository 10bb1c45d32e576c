# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # A kind of client that holds a connection, a file or threads: how to know one by its class'
      # name, without the library that it comes from.
      #
      #   type = ClientType.new("PG::Connection", open: ->(pg) { !pg.finished? }, fd: …, advice: …)
      #   type.open?(object)     # false for one that was closed, and for one that won't say
      #   type.fd(object)        # of its connection, if it tells
      #   type.peer(object)      # "db.example.com:5432", or nil
      #
      # `mute`: told by nobody, for it knows by itself when it was forked, but its descriptors are
      # accounted for. `threads`: the names of the native threads that come with it. `needs`: what
      # an open one has, :connection or :file; where there is none, nobody looks for its objects.
      # `finalized`: Ruby's collector closes it, in a child too (see Finalizers).
      class ClientType
        attr_reader :name    #: String
        attr_reader :advice  #: String
        attr_reader :threads #: Regexp?
        attr_reader :needs   #: Symbol?

        # Each question is a lambda over the object: open, fd, file, ending, peer, mute.
        #
        #: (String name, open: ^(untyped) -> bool, advice: String, ?threads: Regexp?,
        #:  ?needs: Symbol?, ?finalized: bool, **^(untyped) -> untyped asks) -> void
        def initialize(name, open:, advice:, threads: nil, needs: :connection, finalized: false,
                       **asks)
          @name = name
          @open = open
          @advice = advice
          @threads = threads
          @needs = needs
          @finalized = finalized
          @asks = asks
        end

        #: () -> bool
        def finalized? = @finalized

        #: (untyped) -> bool
        def open?(object) = ask(@open, object) ? true : false

        #: (untyped) -> bool
        def mute?(object) = ask(@asks[:mute], object) ? true : false

        #: (untyped) -> Integer?
        def fd(object)
          held = ask(@asks[:fd], object)
          held.is_a?(Integer) ? held : ask(->(io) { io.to_io.fileno }, held)
        end

        # Files that it holds open, by the beginning of their path.
        #
        #: (untyped) -> String?
        def file(object)
          path = ask(@asks[:file], object).to_s
          File.realpath(path) if !path.empty? && File.exist?(path)
        end

        #: (untyped) -> String?
        def peer(object) = ask(@asks[:peer], object)&.to_s&.scrub

        # The end of its peer's address, where it can't tell its descriptor.
        #
        #: (untyped) -> String?
        def ending(object) = ask(@asks[:ending], object)

        private

        # An object half made or half closed raises whatever its library likes.
        #
        #: (^(untyped) -> untyped, untyped) -> untyped
        def ask(question, object)
          question&.call(object) unless object.nil?
        rescue StandardError, ScriptError, SystemStackError
          nil # Then it holds nothing that it knows of.
        end
      end
      private_constant :ClientType
    end
  end
end
