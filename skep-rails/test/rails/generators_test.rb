# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# What `rails generate skep:…` writes.
class RailsGeneratorsTest < Skep::TestCase
  TEMPLATES = File.expand_path("../../lib/generators/skep/*/templates/*.rb.tt", __dir__)
  PARTS = { "Skep::Kafka" => "skep/kafka", "Skep::Rails" => "skep/rails" }.freeze
  # A program that runs generators in the current directory, and then again. Its first word is a
  # railtie; " / " is between two generators.
  TWICE = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "rails"
    require ARGV.shift
    require "rails/generators"
    module Shop
      class Application < Rails::Application
        config.root = Dir.pwd
      end
    end
    2.times do
      ARGV.join(" ").split(" / ").map(&:split).each do |name, *words|
        Rails::Generators.invoke(name, words)
      rescue SystemExit # after an error
        next
      end
    end
  RUBY
  # Runs the migration in a database in memory. Prints the columns of the table's primary key.
  MIGRATE = <<~'RUBY'
    $VERBOSE = nil
    require "active_record"
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
    ActiveRecord::Migration.verbose = false
    load Dir.glob("db/migrate/*").first
    CreateSkepOffsets.migrate(:up)
    puts ActiveRecord::Base.connection.primary_keys("skep_offsets").join(" ")
  RUBY
  private_constant :TEMPLATES, :PARTS, :TWICE, :MIGRATE

  # Lines that are commented out are for the user to uncomment.
  test "a template requires each part of skep that it names, even in a comment" do
    templates = Dir.glob(TEMPLATES).to_h { |path| [File.basename(path), File.read(path)] }
    assert_operator templates.size, :>=, 3
    missing = templates.flat_map do |name, text|
      required = text.scan(/^require "(.*)"$/).flatten.map { |path| path[%r{\Askep/\w+}] }
      named = PARTS.select { |part, _| text.include?(part) }.values
      (named - required).map { |feature| [name, feature] }
    end
    assert_empty missing
  end

  test "skep:offsets writes a migration once, which creates the table" do
    need("railties", "activerecord")
    Dir.mktmpdir do |directory|
      out = generate(directory, "skep:offsets")
      files = Dir.glob("db/migrate/*", base: directory)

      assert_match(/create .*skip .*_create_skep_offsets\.rb.*bin\/rails db:migrate/m, out)
      assert_equal 1, files.size
      assert_match(/\Adb\/migrate\/\d{14}_create_skep_offsets\.rb\z/, files.first)
      need("sqlite3")
      assert_equal "consumer_group topic partition\n", ruby_in(directory, MIGRATE)
    end
  end

  test "skep:install writes Active Job's work only where Active Job is loaded" do
    need("railties", "activejob")
    { "rails" => false, "active_job/railtie" => true }.each do |railtie, jobs|
      Dir.mktmpdir do |directory|
        out = generate(directory, "skep:install", railtie:)
        files = %w[config/skep.rb config/initializers/skep.rb].map { |path| read(directory, path) }
        assert_equal [jobs] * 3, [files.first.match?(/^  swarm\.work Skep::Rails\.jobs/),
                                  files.last.include?("config.skep.prefix"),
                                  out.include?("queue_adapter")]
        files.each { |text| assert RubyVM::InstructionSequence.compile(text), text }
      end
    end
  end

  test "skep:consumer writes a consumer, its test and its work, once" do
    need("railties")
    Dir.mktmpdir do |directory|
      FileUtils.mkdir(File.join(directory, "test"))
      out = generate(directory, "skep:install / skep:consumer billing/orders --model Order " \
                                "--topic orders.v2 / skep:consumer orders")
      consumer, test, swarm = %w[app/consumers/billing/orders_consumer.rb
                                 test/consumers/billing/orders_consumer_test.rb
                                 config/skep.rb].map { |path| read(directory, path) }
      assert_match(/^class Billing::OrdersConsumer$.* Order\.upsert\(message\.value\)$/m, consumer)
      assert_match(/^class Billing::OrdersConsumerTest <.*\.work\("orders\.v2"\)$/m, test)
      %w[Billing::OrdersConsumer OrdersConsumer].each do |name|
        assert_equal 1, swarm.scan(/^  \)\).* #{name}\.new\.call\(batch, node\)/).size
      end
      assert_match(/group: "shop\.orders\.v2", topics: "orders\.v2".*}\nend\n\z/m, swarm)
      assert_equal 1, swarm.scan(/^require "skep\/kafka"$/).size
      assert_includes out, "skip  config/skep.rb: it has Billing::OrdersConsumer"
      [consumer, test, swarm].each { |text| assert RubyVM::InstructionSequence.compile(text) }
    end
  end

  test "skep:consumer adds to a swarm of another form, or prints what to add" do
    need("railties")
    Dir.mktmpdir do |directory|
      FileUtils.mkdir_p(File.join(directory, "config"))
      path = File.join(directory, "config/skep.rb")
      File.write(path, "Skep.swarm(\"shop\",\n  nodes: 3) do |s|\n  s.work { 1 }\nend\n\nputs 1\n")
      generate(directory, "skep:consumer", "orders")
      added = /\Arequire "skep\/kafka"\n\nSkep.*{ 1 }\n\n  # .*\n  s\.work\(Skep.*}\nend\n\nputs/m
      assert_match added, File.read(path)
      File.write(path, "swarm = Skep::Swarm.new(\"shop\")\n")
      assert_match(/Add this to config\/skep\.rb:\n\n.*  swarm\.work\(Skep/m,
                   generate(directory, "skep:consumer", "orders"))
      assert_equal 1, File.readlines(path).size
    end
  end

  test "skep:consumer says what is wrong, and writes nothing" do
    need("railties")
    Dir.mktmpdir do |directory|
      errors = {
        "orders" => "there is no config/skep.rb: run `bin/rails generate skep:install` first",
        "orders.v2" => "orders.v2 can't name a class: give a name such as orders, and --topic " \
                       "orders.v2",
        "orders --topic a,b" => '"a,b" isn\'t the name of a topic',
        "orders --model 3" => '"3" isn\'t the name of a model: give one such as Order'
      }
      out, err, = run_in(directory, TWICE, "rails",
                         errors.keys.map { |words| "skep:consumer #{words}" }.join(" / "))
      errors.each_value { |error| assert_includes "#{out}#{err}", error }
      assert_empty Dir.children(directory)
    end
  end

  private

  def generate(directory, *words, railtie: "rails") = ruby_in(directory, TWICE, railtie, *words)
  def read(directory, path) = File.read(File.join(directory, path))

  def need(*names)
    names.each { |name| Gem::Specification.find_all_by_name(name).any? or missing "the gem #{name}" }
  end

  def ruby_in(directory, program, *words)
    out, err, status = run_in(directory, program, *words)
    assert_predicate status, :success?, "#{out}#{err}"
    out
  end

  def run_in(directory, program, *words)
    Dir.chdir(directory) { run_program(program, words, gems: :bundler) }
  end
end
