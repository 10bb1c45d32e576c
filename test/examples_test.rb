# frozen_string_literal: true

require "test_helper"
require "yaml"
require "skep"

# The units, images and manifests in examples/ agree with the options of their swarms.
class ExamplesTest < Skep::TestCase
  ROOT = File.expand_path("../examples", __dir__)
  PROBES = %w[startupProbe readinessProbe livenessProbe].freeze
  private_constant :ROOT, :PROBES

  test "a pod has longer to stop than its swarm" do
    assert_operator pod["terminationGracePeriodSeconds"], :>, config.stop_timeout + 5
  end

  test "a pod's probes use the address of its swarm's metrics" do
    port = container["ports"].to_h { |port| [port["name"], port["containerPort"]] }
    probes = container.values_at(*PROBES).map { |probe| probe["httpGet"] }
    annotation = manifest.dig("spec", "template", "metadata", "annotations", "prometheus.io/port")

    assert_equal ["/readyz?nodes=all", "/readyz", "/healthz"], probes.map { |get| get["path"] }
    assert_equal(["0.0.0.0:9394"], probes.map { |get| "0.0.0.0:#{port[get["port"]]}" }.uniq)
    assert_equal ["0.0.0.0:9394", "9394"], [config.metrics, annotation]
  end

  test "a pod isn't restarted while its swarm may still boot" do
    probe = container["startupProbe"]

    assert_operator probe["periodSeconds"] * probe["failureThreshold"], :>, 2 * config.boot_timeout
  end

  test "the comment on a pod's startup probe states its seconds and those of its swarm's boot" do
    probe = container["startupProbe"]
    seconds = [probe["periodSeconds"] * probe["failureThreshold"], 2 * config.boot_timeout.to_i]
    comment = text("container/deployment.yaml")[/((?: *#.*\n)+) *startupProbe:/, 1]

    assert_equal seconds, comment.scan(/(\d+) s\b/).flatten.map(&:to_i)
  end

  test "a pod counts only after a crash loop would have been found" do
    assert_operator manifest.dig("spec", "minReadySeconds"), :>=, 30
    assert_operator manifest.dig("spec", "minReadySeconds"), :>=, config.restart_window / 2
  end

  test "a pod has more memory than its nodes may take" do
    assert_equal "1Gi", container.dig("resources", "limits", "memory")
    assert_operator config.memory_budget, :<, 0.9 * 1024**3
  end

  test "a pod has the image's user, and can write to its run directory" do
    assert_equal dockerfile[/^USER (\d+)$/, 1].to_i, pod.dig("securityContext", "runAsUser")
    assert_includes container["volumeMounts"].map { |mount| mount["mountPath"] },
                    File.dirname(dockerfile[/^ENV SKEP_RUN_DIR=(\S+)$/, 1])
  end

  test "an image's health check is for the swarm that it starts without a shell" do
    commands = dockerfile.scan(/(?:^| )CMD (\[.*\])$/).flatten.map { |line| JSON.parse(line) }

    assert_equal [%w[bundle exec skep status billing], %w[bundle exec skep run swarm.rb]], commands
    assert_equal "billing", config.name
    assert_match(/^STOPSIGNAL SIGTERM$/, dockerfile)
  end

  test "the sample of json_to_postgres calls its result rows, not messages" do
    load("#{ROOT}/json_to_postgres/sample.rb", wrapper = Module.new)
    postgres = Object.new
    def postgres.query(_sql) = "sent|5000|23712500\n"

    assert_equal ["rows of the table: 5000 orders in state sent, 23712500 cents"],
                 wrapper::Sample.result(nil, postgres)
  end

  test "a unit has longer to stop than a swarm by default" do
    unit = text("systemd/skep@.service")

    assert_operator unit[/^TimeoutStopSec=(\d+)$/, 1].to_i, :>,
                    Skep::Swarm::Definition::Config::Options::ALL[:stop_timeout].value + 5
    assert_equal "notify", unit[/^Type=(\S+)$/, 1]
  end

  test "a Procfile's swarm can be run" do
    assert_equal "worker: bundle exec skep run swarm.rb\n", text("procfile/Procfile")
    assert_predicate config("procfile"), :valid?
  end

  private

  def text(path) = File.read(File.join(ROOT, path), encoding: "UTF-8")
  def dockerfile = text("container/Dockerfile")
  def manifest = YAML.safe_load(text("container/deployment.yaml"))
  def pod = manifest.dig("spec", "template", "spec")
  def container = pod["containers"].first

  def config(example = "container")
    file = File.join(ROOT, example, "swarm.rb")
    plain = Skep::Swarm::Definition::Loader.new(file).swarm.__to_plain
    Skep::Swarm::Definition::Config.new(plain["name"], plain["options"], tasks: plain["tasks"])
  end
end
