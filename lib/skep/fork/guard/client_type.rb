# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Describes a class of clients that hold a connection, a file or threads. It is known by its
      # name, so that the library need not be loaded.
      #
      #   type = ClientType.new("PG::Connection", open: ->(pg) { !pg.finished? }, fd: …, advice: …)
      #   type.open?(object)     # false if it is closed or the question raises
      #   type.fd(object)        # of its connection, or nil
      #   type.peer(object)      # "db.example.com:5432", or nil
      #
      # `mute`: not reported, because the client detects a fork itself; its descriptors are claimed
      # all the same. `threads`: the names of its native threads. `needs`: what an open client has,
      # :connection or :file; if the process has none left, its objects are not searched for.
      # `finalized`: a finalizer closes it, also in a child (see Finalizers).
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

        # Returns the path of the file that it holds open.
        #
        #: (untyped) -> String?
        def file(object)
          path = ask(@asks[:file], object).to_s
          File.realpath(path) if !path.empty? && File.exist?(path)
        end

        #: (untyped) -> String?
        def peer(object) = ask(@asks[:peer], object)&.to_s&.scrub

        # Returns the end of its peer's address, for a client that doesn't give its descriptor.
        #
        #: (untyped) -> String?
        def ending(object) = ask(@asks[:ending], object)

        private

        # A half-made or half-closed object may raise anything.
        #
        #: (^(untyped) -> untyped, untyped) -> untyped
        def ask(question, object)
          question&.call(object) unless object.nil?
        rescue StandardError, ScriptError, SystemStackError
          nil # Counts as closed.
        end
      end
      private_constant :ClientType
    end
  end
end
