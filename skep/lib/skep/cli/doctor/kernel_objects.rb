# frozen_string_literal: true

module Skep
  module CLI
    module Doctor
      # An inspector for Fork::Guard: epoll sets, inotify instances, io_urings and the like. A child
      # shares their kernel state with its parent. It skips Ruby's own, and those of skep's pollers,
      # which replace their set in a child.
      class KernelObjects
        WHAT = "epoll sets and the like"
        Kind = Struct.new(:name, :line, :unit, :harm)
        KINDS = {
          "eventpoll" => Kind.new("an epoll set", "tfd:", "descriptors watched",
                                  "what a child adds or removes changes the parent's set"),
          "eventfd" => Kind.new("an eventfd", nil, nil,
                                "a child may take the wake-up that was meant for the parent"),
          "inotify" => Kind.new("an inotify instance", "inotify wd:", "files watched",
                                "whichever process reads first gets a change"),
          "fanotify" => Kind.new("a fanotify group", nil, nil,
                                 "whichever process reads first gets a change"),
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
        ADVICE = "open it again in each child, for example in Skep.on_fork, " \
                 "or close it before the fork"
        private_constant :Kind, :KINDS, :ADVICE

        def initialize(inventory)
          @inventory = inventory
        end

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

        def what(descriptor, kind)
          count = descriptor.count(kind.line) if kind.line
          count ? "#{kind.name} (#{count} #{kind.unit})" : kind.name
        end

        def where(descriptor)
          io = @inventory.io(descriptor.fd)
          maker = io ? @inventory.place(io) || "a #{io.class}" : "not opened by Ruby"
          "#{maker}, #{descriptor}"
        end

        # Returns true for descriptors that wake Ruby's own threads: Ruby replaces them in a child.
        def reserved?(descriptor)
          return false unless descriptor.close_on_exec?

          IO.for_fd(descriptor.fd, autoclose: false)
          false
        rescue ArgumentError
          true # "The given fd is not accessible because RubyVM reserves it"
        rescue SystemCallError
          false # closed since, or it can't be opened so
        end

        def pollers
          @pollers ||= @inventory.objects("Skep::OS::EventLoop::Poller").filter_map do |poller|
            epoll = poller.instance_variable_get(:@epoll)
            epoll.fileno if epoll && !epoll.closed?
          end
        end
      end
    end
  end
end
