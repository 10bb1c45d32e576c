# frozen_string_literal: true

module Skep
  class Web
    class DeadLetters
      # A dead letter topic of the page. Reading it, and what visitors do with its letters, takes
      # long, and happens on two threads of its own: one reads, the other replays and purges, one
      # command at a time. Requests start that, and get what is known.
      #
      #   topic = Topic.new("orders.dead", client_config)
      #   topic.list(60)            # counts the letters, unless that was done 60 s ago or later,
      #                             # or has just taken more than a tenth of the time since then
      #   topic.letters(filter, 10) # => a Job: letters that fit
      #   topic.carry_out(command)  # RequestRefused while another command runs
      #   topic.facts               # what the page shows
      #   topic.close
      class Topic
        GROUPS = 200
        FRESH = 5.0 # seconds: letters that were read then are not read again
        KEPT = 30.0 # seconds
        SHARE = 10 # a list isn't read again before so many times what its last read took
        READS = 4 # of letters, that are kept or wait for their turn
        BUSY = "A %s of %s is running: wait for its end, and try again"
        MANY_READS = "Too many visitors read %s at the moment: try again later"
        private_constant :GROUPS, :FRESH, :KEPT, :SHARE, :READS, :BUSY, :MANY_READS

        attr_reader :name

        # config: a Kafka::Config::ClientConfig.
        def initialize(name, config)
          @name = name
          @reader, @writer = Array.new(2) { Worker.new(name, config) }
          @lock = Mutex.new
          @letters = {}
        end

        def list(max_age)
          @lock.synchronize do
            next if usable?(@listing, [max_age, SHARE * @listing&.took.to_f].max)

            @listed = @listing if @listing&.result
            @listing = begin_reading { |letters| count(letters) }
          end
        end

        def letters(filter, limit)
          @lock.synchronize do
            key = [filter, limit]
            @letters.delete_if { |_, job| job.lost? || job.ago.to_f > KEPT }
            next @letters[key] if usable?(@letters[key], FRESH)

            make_room(key)
            @letters[key] = begin_reading { |letters| found(letters, filter, limit) }
          end
        end

        def carry_out(command, by:)
          @lock.synchronize do
            if @command&.running?
              raise RequestRefused.new(409, format(BUSY, @command.about[:action], name))
            end

            about = { id: SecureRandom.hex(8), by:, **command.facts }.compact
            job = Job.new(about) { |letters| command.call(letters) }
            @writer.push(job)
            @command = job
            about
          end
        end

        # groups: with those of the last list.
        def facts(groups: false)
          listing, listed, command = @lock.synchronize { [@listing, @listed, @command] }
          listed = listing if listing&.result
          list = listed && { ago: listed.ago, took: listed.took, **listed.result }
          { topic: name, reading: listing&.running? || false, failure: listing&.failure,
            failed_ago: (listing.ago if listing&.failure),
            list: groups ? list : list&.except(:groups),
            command: (command_facts(command) unless command.nil? || command.lost?) }.compact
        end

        def interrupt = [@reader, @writer].each(&:interrupt)
        def close = [@reader, @writer].each(&:close)
        def inspect = "#<#{self.class} #{name}>"

        private

        def usable?(job, max_age)
          return false if job.nil? || job.lost? || outdated?(job)

          job.running? || job.ago <= max_age
        end

        # A read that began before the end of a command shows letters that aren't there any more.
        def outdated?(job)
          @command && !@command.about[:dry_run] && !job.after?(@command)
        end

        # The oldest that has ended makes room.
        def make_room(key)
          @letters.delete(key)
          return if @letters.size < READS

          oldest, = @letters.find { |_, job| !job.running? }
          oldest or raise RequestRefused.new(503, format(MANY_READS, name))
          @letters.delete(oldest)
        end

        def begin_reading(&) = Job.new(&).tap { |job| @reader.push(job) }

        def count(letters)
          groups = letters.groups
          { letters: groups.sum { |group| group[:count] }, more: [groups.size - GROUPS, 0].max,
            groups: groups.first(GROUPS).map { |group| LetterPresenter.group(group) } }
        end

        # Presents each letter at once: a message keeps the memory of its whole read.
        def found(letters, filter, limit)
          letters.each(**filter.to_h).lazy.map { |one| LetterPresenter.letter(one) }.first(limit)
        end

        def command_facts(job)
          { **job.about, running: job.running?, seconds: job.seconds, ago: job.ago,
            counts: job.result, failure: job.failure }.compact
        end
      end
    end
  end
end
