# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"

# What skep's gems do without the others, and where a new Ruby finds them in a checkout.
class GemsApartTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  test "each method of a map names the gem that it is in, if that isn't there" do
    assert_equal <<~TEXT * 5, run_with(%w[skep], <<~RUBY)
      Skep::Error: Skep.NAME is in the gem skep-map, which isn't there in version VERSION: run `gem install skep-map`, or add `gem "skep-map"` to the Gemfile
    TEXT
      require "skep"
      %i[map each each_with_index flat_map filter_map].each do |name|
        Skep.public_send(name, [1], nodes: 2) { |one| one }
      rescue Skep::Error => e
        puts "\#{e.class}: \#{e.message.sub(name.to_s, "NAME").sub(Skep::VERSION, "VERSION")}"
      end
    RUBY
  end

  test "a map is loaded by itself or with skep, in any order" do
    ["skep/map", "skep", %w[skep/map skep], %w[skep skep/map]].each do |features|
      assert_equal "[2, 3]\n", run_with(%w[skep skep-map], <<~RUBY)
        #{[*features].map { |feature| "require #{feature.inspect}" }.join("\n")}
        p Skep.map([1, 2], nodes: 0) { |one| one + 1 }
      RUBY
    end
  end

  test "an error in a part's file is raised" do
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p("#{folder}/skep")
      File.write("#{folder}/skep/work.rb", 'require "no/such/library"')
      assert_equal "no/such/library\n", run_with(%w[skep], <<~RUBY)
        $LOAD_PATH << #{folder.inspect}
        begin
          require "skep"
        rescue LoadError => e
          puts e.path
        end
      RUBY
    end
  end

  test "a gem that RubyGems refuses is treated as absent, its plugin with a warning" do
    Dir.mktmpdir do |folder|
      %w[skep-map skep-mail].each do |name|
        FileUtils.mkdir_p(["#{folder}/specifications",
                           "#{folder}/gems/#{name}-0.0.1/lib/skep/plugin"])
        File.write("#{folder}/specifications/#{name}-0.0.1.gemspec", specification(name))
      end
      FileUtils.touch(["#{folder}/gems/skep-map-0.0.1/lib/skep/work.rb",
                       "#{folder}/gems/skep-mail-0.0.1/lib/skep/plugin/mail.rb"])
      env = { "GEM_PATH" => folder, "GEM_HOME" => folder, "RUBYOPT" => nil, "RUBYLIB" => nil }
      out, err, = run_command(env, RbConfig.ruby, "-I#{ROOT}/skep/lib", "-e", <<~RUBY, timeout: 30)
        require "skep"
        Skep.map([1]) { |one| one } rescue puts $!.class
        p Skep::Plugin.all
      RUBY
      assert_equal "Skep::Error\n{}\n", out, err
      assert_match(/\Askep: the gem skep-mail is left out: .*'skep'.*\n\z/, err)
    end
  end

  test "the page names the gem that dead letters need" do
    libraries = $LOAD_PATH.reject { |path| path.to_s.end_with?("/skep-kafka/lib") }
    env = { "RUBYOPT" => nil, "RUBYLIB" => libraries.join(File::PATH_SEPARATOR) }
    out, err, = run_command(env, RbConfig.ruby, "--disable=gems", "-e", <<~RUBY, timeout: 30)
      require "skep/web"
      begin
        Skep::Web.new(dead_letters: { "orders.dead" => {} })
      rescue Skep::Web::MissingGem => e
        puts e.message
      end
    RUBY
    assert_match(/\Adead_letters: needs the gem skep-kafka \(\d\S* or newer\) \(cannot load such/,
                 out, err)
    assert_includes out, "run `gem install skep-kafka`"
  end

  test "a mold and an inspected process load the gems beside skep that are on the load path" do
    assert_equal <<~TEXT, run_with(%w[skep skep-map], <<~RUBY)
      -I skep/lib -I skep-map/lib
      -I skep/lib
    TEXT
      require "skep/library_options"
      $LOAD_PATH << "/srv/app/lib" << "/srv/skep-other/lib"
      show = -> { puts Skep::LibraryOptions.to_a.join(" ").gsub(#{"#{ROOT}/".inspect}, "") }
      show.call
      $LOAD_PATH.reject! { |path| path.end_with?("skep-map/lib") }
      show.call
    RUBY
  end

  private

  # Of an installed gem that depends on a version of skep that isn't installed.
  def specification(name)
    <<~RUBY
      # stub: #{name} 0.0.1 ruby lib
      Gem::Specification.new do |spec|
        spec.name, spec.version, spec.require_paths = "#{name}", Gem::Version.new("0.0.1"), ["lib"]
        spec.installed_by_version = "3.3.0"
        spec.add_runtime_dependency("skep", "= 0.0.1")
      end
    RUBY
  end

  # Returns what a Ruby without RubyGems prints, which has these gems only. It must not warn.
  def run_with(gems, program)
    folders = gems.map { |gem| "-I#{ROOT}/#{gem}/lib" }
    command = [RbConfig.ruby, "--disable=gems", "-w", *folders, "-e", program]
    out, err, = run_command({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command, timeout: 30)
    assert_empty err
    out
  end
end
