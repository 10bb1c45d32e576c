# frozen_string_literal: true

# A host boots before its broker. The swarm exits with 75, and a real systemd, with the unit of
# examples/systemd, restarts it until the broker answers. Needs root and systemd.
require_relative "scenario"
require_relative "../support/own_systemd"

UNIT = File.expand_path("../../../examples/systemd/skep@.service", __dir__)
# Returns the Gem::Specifications of a gem and of all its dependencies.
WITH_DEPENDENCIES = lambda do |name|
  spec = Gem.loaded_specs.fetch(name) { Gem::Specification.find_by_name(name) }
  [spec, *spec.runtime_dependencies.flat_map { |one| WITH_DEPENDENCIES.call(one.name) }]
end

KafkaScenario.play do
  OwnSystemd.possible? or missing "root and systemd"

  topic("orders", 2)
  feed("orders", [%w[1 v]])
  broker.stop

  code = File.expand_path("../../..", public_skep)
  WITH_DEPENDENCIES.call("karafka-rdkafka").uniq.each do |spec|
    home = spec.base_dir
    [spec.full_gem_path, spec.extension_dir, spec.loaded_from].each do |path|
      next unless path.start_with?(home) && File.exist?(path)

      to = File.join(code, "gems", path.delete_prefix(home))
      FileUtils.mkdir_p(File.dirname(to))
      FileUtils.cp_r(path, to)
    end
  end
  FileUtils.chmod_R("a+rX", code)

  systemd = OwnSystemd.new(directory, code:)
  at_end { systemd.stop }
  File.write("#{directory}/swarm.rb", <<~RUBY)
    require "skep/kafka"
    Skep.swarm "billing", nodes: 2 do |swarm|
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers" => #{broker.address.inspect} },
                                       group: "billing", topics: "orders", connect_timeout: 2)
      swarm.work(source) do |batch, _|
        File.write("#{OwnSystemd::OURS}/done", batch.payloads.join("\\n"), mode: "a")
      end
    end
  RUBY
  File.write("#{directory}/done", "")
  File.chmod(0o666, "#{directory}/done")
  systemd.unit("skep@.service", File.read(UNIT))
  systemd.unit("skep@.service.d/here.conf", <<~INI)
    [Service]
    WorkingDirectory=#{OwnSystemd::OURS}
    ExecStart=
    Environment=GEM_PATH=#{OwnSystemd::CODE}/gems
    ExecStart=#{RbConfig.ruby} #{OwnSystemd::CODE}/skep/exe/skep run swarm.rb
    User=nobody
    Group=nogroup
    ReadWritePaths=#{OwnSystemd::OURS}
    RestartSec=0.2
  INI
  systemd.start

  billing = "skep@billing.service"
  shows = ->(property) { systemd.show(billing, property) }
  messages = -> { systemd.journal("-u", billing).last(9).map { |entry| entry["MESSAGE"] } }

  systemd.ctl("start", "--no-block", billing)
  systemd.follow("a third start: #{messages.call}") { shows.call("NRestarts").to_i >= 2 }
  all = systemd.journal("-u", billing).map { |entry| entry["MESSAGE"] }
  must("log that no broker answered: #{all}") do
    all.grep(/No broker of .* answered within 2 s/).any?
  end
  statuses = systemd.journal("-u", billing).filter_map { |entry| entry["EXIT_STATUS"] }
  must("exit with 75: #{statuses}") { statuses.any? && statuses.all?("75") }

  broker.start
  systemd.follow("ready nodes: #{messages.call}") { shows.call("StatusText") == "2 nodes ready" }
  systemd.follow("the message is handled") { File.read("#{directory}/done") == "v" }
  must("stop") { systemd.ctl("stop", billing).last }
  must("exit with success: #{messages.call}") { shows.call("Result") == "success" }
end
