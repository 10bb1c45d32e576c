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
        attr_reader :name
        attr_reader :advice
        attr_reader :threads
        attr_reader :needs

        # Each question is a lambda over the object: open, fd, file, ending, peer, mute.
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

        def finalized? = @finalized

        def open?(object) = ask(@open, object) ? true : false

        def mute?(object) = ask(@asks[:mute], object) ? true : false

        def fd(object)
          held = ask(@asks[:fd], object)
          held.is_a?(Integer) ? held : ask(->(io) { io.to_io.fileno }, held)
        end

        # Returns the path of the file that it holds open.
        def file(object)
          path = ask(@asks[:file], object).to_s
          File.realpath(path) if !path.empty? && File.exist?(path)
        end

        def peer(object) = ask(@asks[:peer], object)&.to_s&.scrub

        # Returns the end of its peer's address, for a client that doesn't give its descriptor.
        def ending(object) = ask(@asks[:ending], object)

        private

        # A half-made or half-closed object may raise anything.
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
