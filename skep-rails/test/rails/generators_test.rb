# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# What `rails generate skep:…` writes.
class RailsGeneratorsTest < Skep::TestCase
  TEMPLATES = File.expand_path("../../lib/generators/skep/*/templates/*.rb.tt", __dir__)
  PARTS = { "Skep::Kafka" => "skep/kafka", "Skep::Rails" => "skep/rails" }.freeze
  # A program that runs a generator twice in the current directory.
  TWICE = <<~'RUBY'
    $VERBOSE = nil # other gems' warnings
    require "rails"
    require "rails/generators"
    module Shop
      class Application < Rails::Application
        config.root = Dir.pwd
      end
    end
    2.times { Rails::Generators.invoke(ARGV.first) }
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
      named = PARTS.select { |part, _| text.include?(part) }.values
      (named - text.scan(/^require "(.*)"$/).flatten).map { |feature| [name, feature] }
    end
    assert_empty missing
  end

  test "skep:offsets writes a migration once, which creates the table" do
    need("railties", "activerecord")
    Dir.mktmpdir do |directory|
      out = ruby_in(directory, TWICE, "skep:offsets")
      files = Dir.glob("db/migrate/*", base: directory)

      assert_match(/create .*skip .*_create_skep_offsets\.rb.*bin\/rails db:migrate/m, out)
      assert_equal 1, files.size
      assert_match(/\Adb\/migrate\/\d{14}_create_skep_offsets\.rb\z/, files.first)
      need("sqlite3")
      assert_equal "consumer_group topic partition\n", ruby_in(directory, MIGRATE)
    end
  end

  private

  def need(*names)
    names.each { |name| Gem::Specification.find_all_by_name(name).any? or missing "the gem #{name}" }
  end

  def ruby_in(directory, program, *words)
    out, err, status = Dir.chdir(directory) { run_program(program, words, gems: :bundler) }
    assert_predicate status, :success?, "#{out}#{err}"
    out
  end
end
