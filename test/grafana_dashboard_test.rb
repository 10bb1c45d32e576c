# frozen_string_literal: true

require "test_helper"
require "json"

# examples/grafana/skep.json can be imported, and queries only metrics that exist.
class GrafanaDashboardTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  PATH = "#{ROOT}/examples/grafana/skep.json"
  DOCUMENTED = /^\| `(skep_\w+)` \| (\w+) \| ([^|]*) \|/
  SUFFIX = /_(?:bucket|sum|count)\z/
  SELECTOR = /(skep_\w+)(?:\{(.*?)\})?/
  # Panels of Grafana 10; "row" has no targets.
  PANELS = %w[row stat state-timeline timeseries].freeze
  VARIABLES = %w[datasource job swarm instance topic].freeze
  # A panel of each is expected.
  SHOWN = %w[skep_nodes skep_node_restarts_total skep_node_crash_loop skep_node_memory_bytes
             skep_kafka_lag skep_kafka_messages_total skep_handler_seconds_bucket
             skep_kafka_retries_total skep_kafka_dead_letters_total skep_kafka_stalls_total
             skep_kafka_rebalances_total skep_kafka_client_broker_up].freeze
  private_constant :ROOT, :PATH, :DOCUMENTED, :SUFFIX, :SELECTOR, :PANELS, :VARIABLES, :SHOWN

  test "queries only metrics that docs/reference/metrics.md lists" do
    refute_empty expressions
    unknown = expressions.flat_map { |one| one.scan(/skep_\w+/) }.uniq.reject do |name|
      documented.key?(name) || (documented.dig(name.sub(SUFFIX, ""), :type) == "histogram")
    end
    assert_empty unknown
  end

  test "selects and groups by labels that these metrics have" do
    wrong = panel_expressions.flat_map do |expression|
      used = expression.scan(/by \(([^)]*)\)/).flatten.flat_map { |list| list.split(", ") }
      expression.scan(SELECTOR).flat_map do |name, selector|
        labels = documented.fetch(name.sub(SUFFIX, ""))[:labels] + %w[job swarm instance le]
        ((selector.to_s.scan(/(\w+)=/).flatten | used) - labels).map { |label| [label, expression] }
      end
    end
    assert_empty wrong
  end

  test "every query can be restricted to a job, a swarm and an instance" do
    assert_empty(panel_expressions.flat_map { |one| one.scan(SELECTOR) }.reject { |_, selector|
      %w[job swarm instance].all? { |name| selector.to_s.include?("#{name}=~\"$#{name}\"") }
    })
  end

  test "queries of metrics by topic can be restricted to a topic" do
    open = panel_expressions.flat_map { |one| one.scan(SELECTOR) }.reject do |name, selector|
      !documented.fetch(name.sub(SUFFIX, ""))[:labels].include?("topic") ||
        selector.include?('topic=~"$topic"')
    end
    assert_empty open
  end

  test "legends name the instance of each node and supervisor" do
    targets = panels.flat_map { |panel| panel["targets"].to_a }
    single = targets.select do |target|
      target["expr"].match?(/\A(?:rate\()?skep_(?:node|supervisor)_|by \(instance/)
    end
    refute_empty single
    assert_empty(single.reject { |target| target["legendFormat"].include?("{{instance}}") })
  end

  test "has the fields that an import needs" do
    assert_equal %w[skep skep-swarm], dashboard.values_at("title", "uid")
    assert_includes 36..41, dashboard["schemaVersion"]
    assert_equal %w[from to], dashboard["time"].keys.sort
    assert_equal VARIABLES, variables.map { |one| one["name"] }
    assert_equal ["datasource", *%w[query] * 4], variables.map { |one| one["type"] }
    assert_empty panels.map { |panel| panel["type"] }.uniq - PANELS
    panels.each { |panel| check(panel) }
  end

  test "uses the chosen data source in every panel and query" do
    asked = [*panels, *panels.flat_map { |panel| panel["targets"].to_a }, *variables.drop(1)]
    sources = asked.reject { |one| one["type"] == "row" }.map { |one| one["datasource"] }
    assert_equal [{ "type" => "prometheus", "uid" => "${datasource}" }], sources.uniq
  end

  test "has panels with ids of their own that don't overlap" do
    ids = panels.map { |panel| panel["id"] }
    assert_equal ids.uniq, ids
    cells = panels.flat_map do |panel|
      x, y, w, h = panel["gridPos"].values_at("x", "y", "w", "h")
      [*x...(x + w)].product([*y...(y + h)])
    end
    assert_equal cells.uniq.size, cells.size
    assert_operator cells.map(&:first).max, :<, 24
  end

  test "shows nodes, memory, lag, handlers, failures, stalls, rebalances and brokers" do
    assert_empty SHOWN - panel_expressions.flat_map { |one| one.scan(/skep_\w+/) }
  end

  private

  def dashboard = @dashboard ||= JSON.parse(File.read(PATH, encoding: "UTF-8"))
  def panels = dashboard["panels"]
  def variables = dashboard.dig("templating", "list")

  def panel_expressions
    panels.flat_map { |panel| panel["targets"].to_a.map { |target| target["expr"] } }
  end

  # The expressions of panels, annotations and variables.
  def expressions
    [*panel_expressions, *dashboard.dig("annotations", "list").filter_map { |one| one["expr"] },
     *variables.filter_map { |one| one["definition"] }]
  end

  # name => its type and labels
  def documented
    @documented ||= begin
      page = File.read("#{ROOT}/docs/reference/metrics.md", encoding: "UTF-8")
      page.scan(DOCUMENTED).to_h do |name, type, labels|
        [name, { type:, labels: labels.scan(/\w+/) }]
      end
    end
  end

  def check(panel)
    assert_kind_of Integer, panel["id"]
    refute_empty panel["title"]
    assert_equal %w[h w x y], panel["gridPos"].keys.sort
    return if panel["type"] == "row"

    refute_empty panel["targets"]
    ids = panel["targets"].map { |target| target["refId"] }
    assert_equal ids.compact.uniq, ids
    panel["targets"].each { |target| refute_empty target["expr"] }
  end
end
