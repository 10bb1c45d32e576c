# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # Where open pages and swarms meet: one thread, which is there while a page is open, asks each
      # swarm once for all of them, and tells all of them what has changed.
      #
      #   hub = Hub.new(swarms, 2.0)
      #   place = hub.place("its cookie")   # nil: too many are open
      #   hub.open(socket, place)           # both are the hub's from here on
      #   hub.leave("its cookie")           # closes the pages that were opened with it
      #   hub.close
      class Hub
        LOOK = 5.0    # for swarms that are new
        PULSE = 15.0  # something must go over the line now and then, or proxies cut it
        private_constant :LOOK, :PULSE

        def initialize(swarms, every) #: (Swarms, Numeric) -> void
          @swarms = swarms
          @every = every
          @lock = Mutex.new
          @sights = {}
          @pages = []
          @places = Places.new
        end

        def place(owner) = @places.take(owner, OS.now) #: (String?) -> Places::Place?

        def open(socket, place) #: (BasicSocket, Places::Place) -> void
          return socket.close unless @places.keep(place)

          thread.push([socket, place])
          wake
        rescue Threads::Background::Closed
          @places.free(place)
          socket.close
        end

        def leave(owner) #: (String) -> void
          @lock.synchronize { @thread }&.push([nil, owner])
          wake
        rescue Threads::Background::Closed # with all pages
          nil
        end

        # What node of that swarm has told of its threads, asked by somebody.
        def backtraces(swarm, node) = @sights[swarm]&.news&.backtraces(node)

        def close #: () -> void
          @closing = true
          @thread&.close(timeout: 0)
          wake
          @thread&.close(timeout: nil)
        end

        private

        def wake
          @waker&.write_nonblock("w", exception: false)
        rescue IOError, Errno::EPIPE # it has just closed its last page, and looks for another
          nil
        end

        # Made at the first page: a server that forks its workers has none before.
        def thread
          @lock.synchronize do
            @thread ||= Threads::Background.new("web", drain: 0) { |inbox| serve(inbox) }
          end
        end

        def serve(inbox)
          while (order = inbox.pop)
            attend(order, inbox)
          end
        end

        # From the first page to the end of the last.
        def attend(order, inbox)
          set_up(inbox)
          obey(order)
          take(inbox) # who came before he could wake us
          @loop.turn until @closing || (@pages.empty? && inbox.empty?)
        ensure
          tear_down
        end

        def set_up(inbox)
          tear_down # what a parent had open, in a forked child
          @loop = OS::EventLoop.new
          @wake, @waker = OS.pipe
          @loop.watch(@wake) do
            @wake.read_nonblock(256, exception: false)
            take(inbox)
          end
          look
          pulse
        end

        def take(inbox)
          while (order = inbox.pop(timeout: 0))
            obey(order)
          end
        end

        # A new page's socket and place; or nil, and whose pages are to be closed.
        def obey((socket, place))
          return welcome(socket, place) if socket

          @pages.each { |page| page.leave if page.place.owner == place }
        end

        def welcome(socket, place)
          page = Page.new(socket, @loop, place:) do |gone|
            @pages -= [gone]
            @places.free(place)
          end
          @pages += [page]
          page.put("retry: 2000\n\n")
          page.put(Page.frame(swarms: @sights.keys))
          @sights.each_value { |sight| page.put(Page.frame(sight.all)) }
        end

        # All swarms there are; a new one begins to be watched.
        def look
          @swarms.paths.each { |name, path| watch(name, path) unless @watched&.include?(name) }
          @loop.after(LOOK) { look }
        end

        def watch(name, path)
          @watched = [*@watched, name]
          sight = @sights[name] || Sight.new(name, path, @every) { |facts| tell(facts) }
          @sights = { **@sights, name => sight }
          tell(sight.all)
          sight.begin(@loop)
        end

        def tell(facts)
          frame = Page.frame(facts)
          @pages.each { |page| page.put(frame) }
        end

        def pulse
          @loop.after(PULSE) do
            @pages.each { |page| page.put(":\n\n") }
            pulse
          end
        end

        def tear_down
          @pages.each { |page| page.close || @places.free(page.place) }
          @sights.each_value(&:rest)
          @pages = []
          @watched = nil
          @loop&.close
          [@wake, @waker].compact.each(&:close)
        end
      end
      private_constant :Hub
    end
  end
end
