# frozen_string_literal: true

module Skep
  class Web
    class DeadLetters
      # Something to do with the letters of a topic, and what came of it.
      #
      #   job = Job.new { |letters| letters.groups }
      #   worker.push(job)       # calls it, then `finish` or `give_up`
      #   job.running?           # also while it waits for its turn
      #   job.result             # what the block returned; nil until then, and after a failure
      #   job.failure            # a sentence
      class Job
        attr_reader :result
        attr_reader :failure
        attr_reader :about # facts that the page shows
        attr_reader :ended_at # monotonic seconds; nil before that

        def initialize(about = nil, &work)
          @about = about
          @work = work
          @began_at = OS.now
          @generation = OS::Generation.count
        end

        def call(letters) = @work.call(letters)

        # The worker turns to it: it has waited for its turn until now.
        def start = @started_at = OS.now

        def finish(result)
          @result = result
          @ended_at = OS.now
        end

        def give_up(sentence)
          @failure = sentence
          @ended_at = OS.now
        end

        def running? = @ended_at.nil? && !lost?

        # Returns true if it runs in the process that this one was forked from.
        def lost? = @ended_at.nil? && @generation != OS::Generation.count

        # Returns seconds since it began.
        def seconds = OS.now - @began_at

        # Returns the seconds that a successful job took, without the wait for its turn; else nil.
        def took = @result && (@ended_at - @started_at)

        # Returns seconds since its end; nil before that.
        def ago = @ended_at && (OS.now - @ended_at)

        # Returns true if it knows what the other has done: it began after the other's end.
        def after?(other) = other.ended_at.nil? || @began_at > other.ended_at
      end

      # A thread that does jobs with the letters of one topic, one at a time. It starts at the first
      # job, so that a server that forks its workers has none before.
      #
      #   worker = Worker.new("orders.dead", client_config)
      #   worker.push(job)
      #   worker.close       # interrupts the job in progress
      #
      # An interrupted replay is like a `skep kafka dead` that is killed: no letter is lost, up to
      # 500 may be there, or be replayed, twice.
      class Worker
        SECONDS = 10
        CLOSE_SECONDS = 15
        FAILURE_LIMIT = 2_000 # characters
        CLOSED = "The page was closed before it was done."
        BUG = "It failed because of an error of the page (%s): see the server's error output."
        HINT = /; --timeout sets how long to wait\.\z/ # an option of the command line
        private_constant :SECONDS, :CLOSE_SECONDS, :FAILURE_LIMIT, :CLOSED, :BUG, :HINT

        # Interrupts a job. No StandardError: the job's own rescues don't stop it.
        class Closing < Exception # rubocop:disable Lint/InheritException
        end
        private_constant :Closing

        # config: a Kafka::Config::ClientConfig. seconds: for a broker to answer, each time.
        def initialize(topic, config, seconds: SECONDS)
          @topic, @config, @seconds = topic, config, seconds
          @lock = Mutex.new
        end

        def push(job)
          thread.push(job)
        rescue Threads::Background::Closed
          job.give_up(CLOSED)
        end

        # Takes no job any more, and interrupts the present one, once.
        def interrupt
          @lock.synchronize do
            @closed = true
            working, @working = @working, nil
            working&.raise(Closing)
          end
        end

        def close
          interrupt
          @thread&.close(timeout: CLOSE_SECONDS)
        end

        def inspect = "#<#{self.class} #{@topic}>"

        private

        def thread
          @lock.synchronize do
            raise Threads::Background::Closed, "dead_letters" if @closed

            @thread ||= Threads::Background.new("dead_letters", drain: 0) do |inbox|
              inbox.each { |job| work(job) }
            end
          end
        end

        def work(job)
          Thread.handle_interrupt(Closing => :never) { attempt(job) }
        rescue Closing # as the job ended
          nil
        end

        def attempt(job)
          @lock.synchronize { @working = Thread.current unless @closed } or
            return job.give_up(CLOSED)
          job.start
          job.finish(call(job))
        rescue Closing
          job.give_up(CLOSED)
        rescue Skep::Error => e
          job.give_up(sentence(e))
        rescue StandardError => e
          job.give_up(format(BUG, e.class))
          raise # it is reported on stderr
        ensure
          job.give_up(CLOSED) if job.running?
          @lock.synchronize { @working = nil }
        end

        # Interrupted only where it waits, and not while the clients are closed after the job.
        def call(job)
          Thread.handle_interrupt(Closing => :on_blocking) do
            Kafka.dead_letters(@topic, @config.to_h, seconds: @seconds) do |letters|
              job.call(letters).tap { @lock.synchronize { @working = nil } }
            end
          end
        end

        def sentence(error)
          text = @config.redact(error.message).lines.map(&:strip).join(" ")
          text.sub(HINT, ".")[0, FAILURE_LIMIT]
        end
      end
    end
  end
end
