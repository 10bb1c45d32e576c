# frozen_string_literal: true

require_relative "scenario"

# A swarm file loads the application, but not skep/rails: at its top, in preload or in on_boot.
# Handlers and the callbacks of partitions run in Rails' executor nevertheless. So they need only
# one database connection, although they run on different threads: each of them returns it.
# Without the gem skep-rails there is one warning, at boot and in `skep check`.
RailsScenario.play do
  # Without Active Job's adapter and the options in config.skep, which need skep/rails.
  edit = ->(path, cut) { write(path, File.read("#{root}/#{path}").sub(cut, "")) }
  edit.call("config/application.rb", "config.active_job.queue_adapter = :skep")
  edit.call("config/initializers/kafka.rb", /\ARails.application.configure.*?^end\n/m)
  write("app/models/current.rb", <<~RUBY)
    class Current < ActiveSupport::CurrentAttributes
      attribute :order
    end
  RUBY
  environment.fetch("DATABASE_URL") << "&pool=1"

  publish = lambda do |topic, *payloads|
    feed = Skep::Kafka::Testing::TopicSeeder.new(broker.bootstrap_servers, topic)
    feed.publish(payloads.map { |payload| [nil, payload] })
  ensure
    feed&.close
  end
  # Writes a swarm file whose handler and callbacks write notes. Its name and group are the topic.
  swarm_file = lambda do |topic, top: "", preload: "", on_boot: ""|
    write("swarm.rb", <<~RUBY)
      require "skep/kafka"
      #{top}

      Skep.swarm "#{topic}", nodes: 1 do |swarm|
        swarm.preload { #{preload} }
        swarm.on_boot { #{on_boot} }
        note = ->(text) { Note.create!(text:, backend: Note.backend) }
        source = Skep::Kafka::Source.new(
          kafka: JSON.parse(ENV.fetch("KAFKA")), group: "#{topic}", topics: "#{topic}",
          max_messages: 1, retry_backoff: 0.01,
          on_assigned: ->(topic, partition, _) { note.call("assigned \#{topic}/\#{partition}") },
          on_revoked: lambda do |topic, partition, _|
            note.call("revoked \#{topic}/\#{partition}")
            raise "no revocation" if topic == "preload"
          end
        )
        swarm.work(source) do |batch|
          note.call("\#{batch.payloads.first} after \#{Current.order.inspect}")
          Current.order = batch.payloads.first
        end
      end
    RUBY
  end
  texts = -> { rows("SELECT text FROM notes ORDER BY id").flatten }
  warned = lambda do |swarm|
    warnings = swarm.events.select { |event| event["event"] == "work_warning" }
    warnings.map { |event| event["warning"] }.grep(/skep-rails/)
  end
  load_it = "require_relative \"config/environment\""

  { top: load_it, preload: load_it, on_boot: "require \"./config/environment\"" }
    .each do |place, line|
    topic = place.to_s
    broker.create_topic(topic, 1)
    publish.call(topic, "a", "b")
    swarm_file.call(topic, place => line)
    notes.query("TRUNCATE notes")
    swarm = run_application
    wanted = ["assigned #{topic}/0", "a after nil", "b after nil"]
    swarm.follow(-> { "it writes #{wanted}, not #{texts.call}" }) { texts.call == wanted }
    must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
    must("revoke with the connection, not #{texts.call}; #{swarm.account}") do
      texts.call == [*wanted, "revoked #{topic}/0"]
    end
    must("find skep-rails, not warn: #{warned.call(swarm)}") { warned.call(swarm).empty? }
  end

  found = reported.map { |error| error.values_at("error", "handled", "topic", "partition") }
  must("report the callback's error once, not #{found}") do
    found == [["no revocation", false, "preload", 0]]
  end

  without_gem = "$LOAD_PATH.reject! { |path| path.end_with?(\"skep-rails/lib\") }"
  swarm_file.call("top", top: "#{load_it}; #{without_gem}")
  printed = skep("check", "swarm.rb")
  must("name the gem in `skep check`: #{printed}") do
    printed.scan(/warning: .*add `gem "skep-rails"`/).size == 1 && printed.include?("good to run")
  end

  environment.fetch("DATABASE_URL").delete_suffix!("&pool=1")
  broker.create_topic("none", 1)
  publish.call("none", "a", "b")
  swarm_file.call("none", preload: "#{load_it}; #{without_gem}")
  notes.query("TRUNCATE notes")
  swarm = run_application
  wanted = ["assigned none/0", "a after nil", "b after \"a\""]
  swarm.follow(-> { "it writes #{wanted}, not #{texts.call}" }) { texts.call == wanted }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  must("warn once, not #{warned.call(swarm)}") { warned.call(swarm).size == 1 }
end
