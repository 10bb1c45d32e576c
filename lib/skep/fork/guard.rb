# frozen_string_literal: true

require "skep/fork/guard/file_descriptor"
require "skep/fork/guard/unix_peers"
require "skep/fork/guard/socket_table"
require "skep/fork/guard/heap_objects"
require "skep/fork/guard/process_inventory"
require "skep/fork/guard/ruby_threads"
require "skep/fork/guard/native_threads"
require "skep/fork/guard/client_type"
require "skep/fork/guard/known_clients"
require "skep/fork/guard/active_record"
require "skep/fork/guard/finalizers"
require "skep/fork/guard/open_clients"
require "skep/fork/guard/connected_sockets"
require "skep/fork/guard/self_pipes"
require "skep/fork/guard/kernel_objects"
require "skep/fork/guard/file_locks"
require "skep/fork/guard/held_locks"
require "skep/fork/guard/cold_heap"

module Skep
  module Fork
    # Looks for what is unsafe to carry into a child, and says what it is, where it comes from and
    # what to do.
    #
    #   Guard.check.each { |finding| warn finding.to_s }
    #   abort if Guard.check.any?(&:breaks?)
    #   Guard.check(except: [channel])   # IOs that the children are meant to share
    #
    # It changes nothing, loads no library but Ruby's socket, refuses nothing and never raises: what
    # to do with a finding is the caller's to decide. What it couldn't look at is a finding too, of
    # the kind :unseen. A thread that knows how to come back in a child says so by a thread
    # variable, `thread_variable_set(:fork_safe, true)`, and is passed over. Where there is no /proc
    # it tells what Ruby knows. docs/fork_safety.md lists what it finds and what it can't see.
    module Guard
      # OpenClients come before the sockets, threads and locks that they are made of: what a client
      # accounts for isn't told twice.
      INSPECTORS = [RubyThreads, OpenClients, NativeThreads, ConnectedSockets, SelfPipes,
                    KernelObjects, FileLocks, HeldLocks, ColdHeap].freeze
      private_constant :INSPECTORS

      # What a fork by the calling thread would carry into a child.
      #
      #: (?except: Array[IO | _ToIO]) -> Array[Finding]
      def self.check(except: [])
        inventory = ProcessInventory.new(except:)
        INSPECTORS.flat_map { |inspector| inspect_by(inspector, inventory) }
      end

      # The findings of one inspector; a failure of its own is one.
      #
      #: (singleton(RubyThreads), ProcessInventory) -> Array[Finding]
      def self.inspect_by(inspector, inventory)
        inspector.new(inventory).findings
      # A broken object, a /proc half hidden, a library out of reach: the others still look.
      rescue StandardError, ScriptError, SystemStackError => error
        [Finding.new(kind: :unseen, severity: :note, what: "what #{inspector::WHAT} there are",
                     where: error.backtrace&.first.to_s,
                     advice: "can't be told: #{error.class}, #{error.message.lines.first&.chomp}")]
      end
      private_class_method :inspect_by
    end
  end
end
