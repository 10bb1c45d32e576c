# frozen_string_literal: true

require "skep/plugin"
require "skep/fork/guard/socket_peer"
require "skep/fork/guard/process_inventory"
require "skep/fork/guard/ruby_threads"
require "skep/fork/guard/grpc"
require "skep/fork/guard/known_clients"
require "skep/fork/guard/open_clients"
require "skep/fork/guard/native_threads"
require "skep/fork/guard/connected_sockets"
require "skep/fork/guard/finalizers"

module Skep
  module Fork
    # Finds what is unsafe to carry into a forked child: threads, open clients and connected
    # sockets. Each finding says what it is, where it comes from and what to do about it.
    #
    #   Guard.check.each { |finding| warn finding.to_s }
    #   abort if Guard.check.any?(&:breaks?)
    #   Guard.check(except: [channel])   # IOs that the children are meant to share
    #
    # ProcessInventory lists descriptors, threads and objects; each inspector returns the findings
    # of one kind. Finalizers keeps children from closing their parent's clients.
    #
    # A check changes nothing and never raises; the caller acts on the findings. It loads Ruby's
    # socket, and if there are native threads the plugins, one of which may know them. What an
    # inspector could not look at is a finding of the kind :unseen. Threads that restart in a child
    # set `thread_variable_set(:fork_safe, true)` and are skipped. Without /proc only Ruby's objects
    # are known. docs/articles/fork_safety.md lists the findings and the limits.
    module Guard
      # Grpc and OpenClients come before the inspectors of threads and sockets: they claim those
      # that belong to a client, so that they are not reported again.
      INSPECTORS = [Grpc, RubyThreads, OpenClients, NativeThreads, ConnectedSockets].freeze
      private_constant :INSPECTORS

      # Returns what a fork by the calling thread would carry into a child. `extra` are further
      # classes of inspectors, which run last.
      def self.check(except: [], extra: [])
        inventory = ProcessInventory.new(except:)
        [*INSPECTORS, *extra].flat_map { |inspector| inspect_by(inspector, inventory) }
      end

      # Adds a class of clients to those that are found, with the facts of KnownClients.
      def self.add_client(name, **facts) = KnownClients.add(name, **facts)

      # Returns the findings of one inspector, or one finding of the kind :unseen if it failed.
      def self.inspect_by(inspector, inventory)
        inspector.new(inventory).findings
      # A broken object, a /proc half hidden, a library out of reach: the others still look.
      rescue StandardError, ScriptError, SystemStackError => error
        [Finding.new(kind: :unseen, severity: :note, what: "what #{inspector::WHAT} there are",
                     where: error.backtrace&.first.to_s,
                     advice: "unknown: #{error.class}, #{error.message.lines.first&.chomp}")]
      end
      private_class_method :inspect_by
    end
  end
end
