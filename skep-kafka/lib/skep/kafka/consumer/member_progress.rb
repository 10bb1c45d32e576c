# frozen_string_literal: true

# Where the partitions of this member are, in memory that outlives its process: after a kill only
# what was in progress is processed again, and not all since the last commit. At its first
# assignment a member that comes back as the same static member, in the same generation of its
# group, commits what its predecessor's page says (Processing::FormerProgress), and begins there.
# Otherwise the group's committed offsets count.
#
#   progress = MemberProgress.for(options, node:, consumer:, report:, topic_recreation:)   # or nil
#   progress.resume(keys, committed)     # before the assignment
#   progress.add(key, options, 42, 7, metadata)   # => the ProgressRow of a new partition
#   progress.assigned                    # before librdkafka reads anything
#   progress.member_seen                 # it is a member now
#   progress.sought(key, 42)             # the partition is about to continue there
#   progress.keep(keys)                  # it has no other partitions any more
#   progress.close                       # all is committed
#
# The event loop calls it, except `sought`.
module Skep
  module Kafka
    class Consumer
      class MemberProgress
        CELLS = 10_240 # of a page, of which only those that are used take memory
        SECONDS = 2.0
        private_constant :SECONDS

        # Returns true for a source whose offsets are in commits of the group alone.
        def self.of_use?(options) = !options.transactional && options.offsets != :database

        # Returns nil where there is no page, and for a member that can't come back.
        def self.for(options, node:, consumer:, **rest)
          pages = node.__progress_pages
          return unless pages && consumer.static_member? && of_use?(options)

          new(options, pages:, consumer:, identity: [node.swarm, *consumer.identity], **rest)
        end

        # Names may be long, and the page has little room.
        def self.digest(text) = Digest::SHA256.base64digest(text)

        def initialize(options, pages:, consumer:, identity:, report:, topic_recreation:)
          @options, @consumer, @report = options, consumer, report
          @identity = MemberProgress.digest(identity.join("\n"))
          @topic_recreation, @former = topic_recreation, pages.former
          @page = Processing::ProgressPage.new(pages.own, @identity)
          @rows = {}
        end

        # committed: [offset, leader epoch, metadata] of each partition, nil if the group has no
        # offset; a partition without an answer is left out. Replaces those of which the predecessor
        # has done more.
        def resume(keys, committed)
          former = @former && Processing::FormerProgress.read(@former) or return
          refusal = former.refusal(identity: @identity, generation: @consumer.generation,
                                   now: Processing::ProgressPage.now,
                                   session: @options.settings.session_timeout)
          return unused(refusal) if refusal

          continue(former.rows.slice(*keys & committed.keys), committed)
        end

        # offset: where the partition begins, with its leader epoch and CommitMetadata. Each may be
        # unknown. Returns nil if there is no room.
        def add(key, options, offset, epoch, metadata)
          @rows.delete(key)
          ring = options.ordered_by == :partition ? 0 : options.max_out_of_order
          row = @page.row(*key, topic_id: topic_id(key.first), ring:) or return
          row.begin_at(offset, epoch:, highest: metadata ? metadata.epoch : 0,
                               done: metadata ? metadata.done_from(offset) : "")
          @rows[key] = row
        end

        # The predecessor's page says nothing any more once this member's own is complete.
        def assigned
          generation = @consumer.generation
          generation ? @page.publish(generation:) : @page.withdraw
          Swarm::IPC::ProgressPages.withdraw(@former) if @former
          @former = nil
        end

        # What is known of other partitions than these is forgotten.
        def keep(keys)
          kept = keys.to_h { |key| [key, true] }
          @rows.select! { |key, _| kept.key?(key) }
        end

        def member_seen = @page.member_seen
        def sought(key, offset) = @rows[key]&.restart(offset)
        def close = @page.withdraw

        def inspect = "#<Skep::Kafka::Consumer::MemberProgress #{@page.inspect}>"

        private

        # partitions: how many; nil: all.
        def unused(reason, **partitions)
          @report.event(:kafka_progress_unused, level: :debug, reason:, **partitions)
        end

        # With the cluster's, or nil if it isn't known.
        def topic_id(topic)
          origin = @topic_recreation.origin(topic)
          MemberProgress.digest(origin.to_a.join("/")) if origin
        end

        def continue(rows, committed)
          further = rows.select { |key, row| further?(row, *committed[key]) }
          entries = usable(further, committed).to_h do |key, row|
            [key, entry(key, row, *committed[key])]
          end
          return if entries.empty?

          code = @consumer.commit(entries.map { |key, entry| [*key, *entry] }, SECONDS)
          return unused(Librdkafka::Bindings.err2str(code)) unless code.zero?

          report_continued(entries, committed)
          committed.update(entries)
        end

        def usable(rows, committed)
          return {} if rows.empty?

          lows, highs = @consumer.beginnings(rows.keys, SECONDS), @consumer.ends(rows.keys, SECONDS)
          refusals = rows.to_h do |key, row|
            [key, row.refusal(committed: committed[key]&.first, topic_id: topic_id(key.first),
                              low: lows&.[](key), high: highs&.[](key))]
          end
          # One event for all of a reason: there may be thousands of partitions.
          refusals.values.compact.tally.each { |reason, partitions| unused(reason, partitions:) }
          rows.select { |key, _| refusals[key].nil? }
        end

        # Returns what to commit. The committed metadata has the failures of messages.
        def entry(key, row, offset = nil, _epoch = nil, metadata = nil)
          failures = Processing::CommitMetadata.read(metadata, offset)&.failures.to_h
          failures = failures.select do |at, _|
            at >= row.position && row.done[at - row.position] != "1"
          end
          origin = @topic_recreation.origin(key.first)
          text = Processing::CommitMetadata.write(row.position, done: row.done, failures:,
                                                                epoch: row.highest, origin:)
          [row.position, row.epoch, text]
        end

        def further?(row, offset = nil, *)
          offset.nil? || row.position > offset || !row.done.empty?
        end

        def report_continued(entries, committed)
          messages = entries.sum do |key, (offset, *)|
            committed[key] ? offset - committed[key].first : 0
          end
          @report.event(:kafka_progress_resumed, group: @options.group, partitions: entries.size,
                                                 messages:)
        end
      end
    end
  end
end
