# frozen_string_literal: true

require "json"

# `skep kafka dead TOPIC`: lists the dead letters of a topic, shows them, writes them back, deletes
# them.
module Skep
  module Kafka
    class Command
      class Dead < ClusterCommand
        SUMMARY = "List, show, replay or purge the messages of a dead letter topic"
        USAGE = "skep kafka dead [TOPIC] [list|show|replay|purge] [--error TEXT] [--dry-run] " \
                "[--brokers LIST | --config FILE | --file SWARM]"
        EXAMPLES = ["skep kafka dead orders.dead --brokers kafka-1:9092",
                    "skep kafka dead show --error Timeout --limit 3 --file swarm.rb",
                    "skep kafka dead orders.dead replay --letter orders.dead/0/12",
                    "skep kafka dead orders.dead replay --error Timeout --rate 100 --dry-run",
                    "skep kafka dead orders.dead purge --from orders --yes"].freeze
        ACTIONS = %w[list show replay purge].freeze
        HEAD = %w[messages from error oldest newest example].freeze
        NONE = "no dead letters"
        SHOWN = 10
        EXAMPLE, PAYLOAD = 60, 500 # characters
        RESULTS = { replayed: "replayed", deleted: "deleted", kept: "kept",
                    failed: "kept, since it couldn't be written",
                    held: "kept, since it was replayed --max-replays times",
                    unknown: "kept, since where it came from is gone or unknown: --to" }.freeze
        NO_LETTER = "kept, since it isn't a dead letter of skep's: --unknown deletes it, too"
        private_constant :ACTIONS, :HEAD, :NONE, :SHOWN, :EXAMPLE, :PAYLOAD, :RESULTS, :NO_LETTER

        private

        def declare(parser)
          parser.on("--error TEXT", "only those whose error contains the text") do |text|
            filter[:error] = text
          end
          parser.on("--letter PLACE", "only this one, as `show` prints it") do |place|
            filter[:letter] = place
          end
          parser.on("--from TOPIC", "only from there: orders, orders/3 or orders/3/41") do |place|
            filter[:topic] = place
          end
          parser.on("--key KEY", "only those with the key") { |key| filter[:key] = key }
          parser.on("--limit N", Integer, "at most N; show: 10") do |number|
            options[:limit] = number
          end
          declare_replay(parser)
          declare_cluster(parser, json: "JSON, one line for each row")
        end

        def declare_replay(parser)
          parser.on("--rate N", Float, "replay: at most N per second") do |number|
            replay[:rate] = number
          end
          parser.on("--to TOPIC", "replay into the topic, not to where it came from") do |topic|
            replay[:to] = topic
          end
          parser.on("--max-replays N", Integer, "not more often than this (3)") do |number|
            replay[:max_replays] = number
          end
          parser.on("--dry-run", "replay and purge: only count") { options[:dry_run] = true }
          declare_purge(parser)
        end

        def declare_purge(parser)
          parser.on("--yes", "purge: delete them for good") { options[:yes] = true }
          parser.on("--unknown", "purge: also messages that aren't skep's dead letters") do
            options[:unknown] = true
          end
        end

        def filter = options[:filter] ||= {}
        def replay = options[:replay] ||= {}

        def perform
          require "skep/kafka"
          action = ACTIONS.include?(arguments.last) ? arguments.pop : "list"
          topic = arguments.shift || topic_of_letter || only_topic
          action = arguments.shift || action # an unknown action, which `check` refuses
          check(topic, action)
          settings = cluster.of_dead_letters(topic)
          Kafka.dead_letters(topic, settings, seconds:) do |letters|
            counts = carry_out(action, letters)
            counts.is_a?(Hash) && counts[:failed].to_i.positive? ? 1 : 0
          end
        end

        def topic_of_letter = filter[:letter]&.split("/")&.first

        # The dead letter topic of the swarm file, if it has one.
        def only_topic
          topics = cluster.dead_letter_topics
          return topics.first if topics.one?
          raise UsageError, "missing argument: TOPIC: #{usage}" unless options[:file]

          have = topics.empty? ? "no dead letter topic" : "several: #{topics.join(", ")}"
          raise UsageError, "missing argument: TOPIC: #{options[:file]} has #{have}"
        end

        def check(topic, action)
          unless ACTIONS.include?(action)
            raise UsageError, "unknown action: #{action}: use one of #{ACTIONS.join(", ")}"
          end

          { "--limit" => options[:limit], "--rate" => replay[:rate],
            "--max-replays" => replay[:max_replays] }.each do |name, value|
            next if value.nil? || value.positive?

            raise UsageError, "#{name} must be more than 0 (got #{format("%g", value)})"
          end
          check_letter(topic)
          check_replay(topic, action)
          check_purge(action)
        end

        # A place that no message can have would be one that isn't found.
        def check_letter(topic)
          place = filter[:letter] or return
          return if place.match?(%r{\A#{Regexp.escape(topic)}/\d+/\d+\z})

          raise UsageError, "--letter must be a place in #{topic}, such as #{topic}/0/12 " \
                            "(got #{place})"
        end

        def check_purge(action)
          if options[:unknown] && action != "purge"
            raise UsageError, "--unknown: only for purge, not for #{action}"
          end
          return if action != "purge" || options[:yes] || options[:dry_run]

          raise UsageError, "purge deletes messages for good: repeat it with --yes, or with " \
                            "--dry-run to count them"
        end

        def check_replay(topic, action)
          raise UsageError, "unexpected argument: #{arguments.first}: #{usage}" if arguments.any?
          raise UsageError, "--to must be another topic than #{topic}" if replay[:to] == topic
          return if action == "replay" || replay.empty?

          names = replay.keys.map { |name| "--#{name.to_s.tr("_", "-")}" }
          raise UsageError, "#{names.join(", ")}: only for replay, not for #{action}"
        end

        def carry_out(action, letters)
          case action
          when "list" then list(letters)
          when "show" then show_all(letters.each(**filter).first(options[:limit] || SHOWN))
          when "replay" then result(letters.replay(**filter, **replay, **bounds))
          when "purge" then result(letters.purge(**filter, **options.slice(:unknown), **bounds))
          end
        end

        def bounds = options.slice(:limit, :dry_run)

        def list(letters)
          groups = letters.groups(**filter)
          return groups.each { |group| out.puts(JSON.generate(group)) } if options[:json]
          return out.puts(NONE) if groups.empty?

          rows = groups.map do |group|
            [group[:count], group[:topic], group[:error], *group.values_at(:oldest, :newest)
              .map { |time| time&.strftime("%F %T") }, cut(group[:example], EXAMPLE)]
          end
          out.puts(UI::TextTable.new(HEAD, rows))
        end

        def show_all(letters)
          return out.puts(NONE) if letters.empty? && !options[:json]

          letters.each { |letter| show(letter) }
        end

        def show(letter)
          facts = facts(letter)
          return out.puts(JSON.generate(facts)) if options[:json]

          facts.compact.each { |name, value| out.puts("#{name}: #{UI.clean(value.to_s)}") }
          out.puts("")
        end

        def facts(letter)
          message = letter.message
          { letter: letter.place, from: letter.origin,
            time: message.timestamp&.strftime("%F %T"), host: letter.host,
            revision: letter.revision,
            attempts: letter.attempts, crashes: letter.crashes, replays: letter.replays,
            error: letter.error, at: letter.error_at, **content(:key, message.key),
            headers: letter.headers.reject { |name, _| name.start_with?("skep.") }
                           .to_h { |name, value| [text(name), text(Array(value).join(", "))] },
            **content(:payload, message.payload, options[:json] ? nil : PAYLOAD) }
        end

        # What isn't text is shown in base64.
        def content(name, bytes, size = nil)
          text = bytes&.dup&.force_encoding(Encoding::UTF_8)
          return { name => cut(text, size) } if text.nil? || text.valid_encoding?

          { "#{name}_base64": cut([bytes].pack("m0"), size) }
        end

        def text(bytes) = bytes&.dup&.force_encoding(Encoding::UTF_8)&.scrub
        def cut(text, size) = text && size && text.size > size ? "#{text[0, size]}…" : text

        def result(counts)
          if options[:json] then out.puts(JSON.generate(counts))
          else
            out.puts("dry run: nothing has changed") if options[:dry_run]
            shown = counts.select { |name, count| count.positive? || name == counts.keys.first }
            words = { **RESULTS, **(counts.key?(:deleted) ? { unknown: NO_LETTER } : {}) }
            shown.each { |name, count| out.puts("#{count} #{words.fetch(name)}") }
          end
          counts
        end
      end
    end
  end
end
