# frozen_string_literal: true

module Skep
  module CLI
    class Doctor < Command
      # An inspector for Fork::Guard: epoll sets, inotify instances, rings and the like. A child
      # shares their state in the kernel with its parent. Skips Ruby's own, and those of skep's
      # pollers, which replace their set in a child.
      class KernelObjects
        WHAT = "epoll sets and the like"
        Kind = Struct.new(:name, :line, :unit, :harm)
        KINDS = {
          "eventpoll" => Kind.new("an epoll set", "tfd:", "descriptors watched",
                                  "what a child adds or removes changes the parent's set"),
          "eventfd" => Kind.new("an eventfd", nil, nil,
                                "a child may take the wake-up that was meant for the parent"),
          "inotify" => Kind.new("an inotify instance", "inotify wd:", "files watched",
                                "a change is told to whichever process reads first"),
          "fanotify" => Kind.new("a fanotify group", nil, nil,
                                 "a change is told to whichever process reads first"),
          "timerfd" => Kind.new("a timerfd", nil, nil,
                                "a child may take the tick that was meant for the parent"),
          "signalfd" => Kind.new("a signalfd", nil, nil,
                                 "each process reads its own signals from it, an epoll set's " \
                                 "only the parent's"),
          "io_uring" => Kind.new("an io_uring", nil, nil,
                                 "both processes would write to one submission queue"),
          "userfaultfd" => Kind.new("a userfaultfd", nil, nil,
                                    "it still serves the parent's memory, not the child's")
        }.freeze
        ADVICE = "make it anew in each child, by Skep.on_fork for one, or close it before the fork"
        private_constant :Kind, :KINDS, :ADVICE

        #: (Skep::Fork::Guard::ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: () -> Array[Skep::Fork::Finding]
        def findings
          held = @inventory.descriptors(*KINDS.keys).reject { |one| reserved?(one) }
          held.reject! { |one| pollers.include?(one.fd) } if held.any?
          held.map do |one|
            kind = KINDS.fetch(one.type)
            Skep::Fork::Finding.new(kind: :kernel_object, what: what(one, kind), where: where(one),
                                    advice: "#{kind.harm}: #{ADVICE}")
          end
        end

        private

        #: (OS::ProcessState::FileDescriptor, Kind) -> String
        def what(descriptor, kind)
          count = descriptor.count(kind.line) if kind.line
          count ? "#{kind.name} (#{count} #{kind.unit})" : kind.name
        end

        #: (OS::ProcessState::FileDescriptor) -> String
        def where(descriptor)
          io = @inventory.io(descriptor.fd)
          maker = io ? @inventory.place(io) || "a #{io.class}" : "not opened by Ruby"
          "#{maker}, #{descriptor}"
        end

        # Returns true for those by which Ruby wakes its own threads: it replaces them in a child.
        #
        #: (OS::ProcessState::FileDescriptor) -> bool
        def reserved?(descriptor)
          return false unless descriptor.close_on_exec?

          IO.for_fd(descriptor.fd, autoclose: false)
          false
        rescue ArgumentError
          true # "The given fd is not accessible because RubyVM reserves it"
        rescue SystemCallError
          false # Closed since, or it can't be opened so.
        end

        #: () -> Array[Integer]
        def pollers
          @pollers ||= @inventory.objects("Skep::OS::EventLoop::Poller").filter_map do |poller|
            epoll = poller.instance_variable_get(:@epoll)
            epoll.fileno if epoll && !epoll.closed?
          end
        end
      end
      private_constant :KernelObjects
    end
  end
end
